# SPDX-License-Identifier: Apache-2.0
"""Which servers the client trusts, with real TLS."""

import json
import pathlib

import pytest

from bench import certificates


@pytest.fixture
def config(apiserver, tmp_path):
    """config(**cluster): a kubeconfig of the admin with changed settings of the cluster; None removes a setting."""
    def make(**changes):
        document = json.loads(pathlib.Path(apiserver.kubeconfig).read_text())
        cluster = document["clusters"][0]["cluster"]
        for key, value in changes.items():
            cluster[key.replace("_", "-")] = value
        document["clusters"][0]["cluster"] = {key: value for key, value in cluster.items() if value is not None}
        path = tmp_path / "config"
        path.write_text(json.dumps(document))
        return path
    return make


@pytest.fixture
def foreign(tmp_path_factory):
    """The certificate of an unrelated authority."""
    return pathlib.Path(certificates.Authority(tmp_path_factory.mktemp("foreign")).certificate)


def _get(driver):
    return driver.call("get", "namespaces", "default", noRetry=True)


def test_a_server_of_another_authority_is_rejected(make_driver, config, foreign, tmp_path):
    (tmp_path / "ca.pem").write_bytes(foreign.read_bytes())
    error = _get(make_driver("--kubeconfig", config(certificate_authority_data=None, certificate_authority="ca.pem")))["error"]
    assert error["kind"] == "denied"
    assert "certificate" in error["text"]


def test_the_server_name_to_verify_can_be_set(make_driver, config):
    right = make_driver("--kubeconfig", config(tls_server_name="kubernetes.default.svc"))
    assert "object" in _get(right)
    assert "object" in _get(right)
    assert right.stats()["connections"] == 1
    wrong = make_driver("--kubeconfig", config(tls_server_name="somebody.else"))
    error = _get(wrong)["error"]
    assert error["kind"] == "denied"
    assert "somebody.else" in error["text"]


def test_verification_is_only_skipped_if_configured(make_driver, config):
    assert "object" in _get(make_driver("--kubeconfig", config(certificate_authority_data=None, insecure_skip_tls_verify=True)))


def test_the_default_authorities_are_those_of_the_environment(make_driver, config, apiserver, tmp_path):
    path = config(certificate_authority_data=None)
    assert _get(make_driver("--kubeconfig", path))["error"]["kind"] == "denied"
    file = {"SSL_CERT_FILE": str(apiserver.authority.certificate)}
    assert "object" in _get(make_driver("--kubeconfig", path, env=file))
    folder = tmp_path / "authorities"
    folder.mkdir()
    (folder / "any-name-at-all").write_bytes(pathlib.Path(apiserver.authority.certificate).read_bytes())
    (folder / "not-a-certificate").write_text("hello\n")
    assert "object" in _get(make_driver("--kubeconfig", path, env={"SSL_CERT_DIR": f"/nowhere:{folder}"}))


def test_an_authority_in_the_kubeconfig_replaces_the_default_ones(make_driver, config, foreign, apiserver, tmp_path):
    """The environment names the right authority, but the kubeconfig another one."""
    (tmp_path / "ca.pem").write_bytes(foreign.read_bytes())
    path = config(certificate_authority_data=None, certificate_authority="ca.pem")
    driver = make_driver("--kubeconfig", path, env={"SSL_CERT_FILE": str(apiserver.authority.certificate)})
    assert _get(driver)["error"]["kind"] == "denied"
