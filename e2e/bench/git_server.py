# SPDX-License-Identifier: Apache-2.0
"""A git server on loopback: repositories that Flux clones over plain http. `git http-backend` does the work, behind a server that speaks
CGI with it; the smart protocol is the only one that Flux understands."""

import http.server
import os
import pathlib
import shutil
import subprocess
import threading

import yaml

from bench import paths

# Neither the user's configuration nor the time decides what a commit looks like.
_ENVIRONMENT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "bench", "GIT_AUTHOR_EMAIL": "bench@example.com",
                "GIT_COMMITTER_NAME": "bench", "GIT_COMMITTER_EMAIL": "bench@example.com", "PATH": os.environ["PATH"]}


def _git(*arguments, directory):
    done = subprocess.run(["git", *arguments], cwd=directory, env=_ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"git {arguments[0]} failed: {done.stderr}")
    return done.stdout.strip()


class _Handler(http.server.BaseHTTPRequestHandler):
    """Translates between HTTP and the Common Gateway Interface (RFC 3875)."""

    directory = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length") or 0)
        environment = {**_ENVIRONMENT, "GIT_PROJECT_ROOT": str(self.directory), "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": self.command,
                       "PATH_INFO": path, "QUERY_STRING": query, "CONTENT_LENGTH": str(length),
                       "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                       "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                       "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        answer = subprocess.run(["git", "http-backend"], env=environment, input=self.rfile.read(length), capture_output=True).stdout
        head, _, body = answer.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET


class GitServer:
    """Serves all repositories that commit() has made, at url(NAME)."""

    def __init__(self):
        self.directory = pathlib.Path(paths.fresh_directory("git"))
        handler = type("Handler", (_Handler,), {"directory": self.directory})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def url(self, name):
        return f"http://127.0.0.1:{self._server.server_port}/{name}/.git"

    def commit(self, name, files):
        """Replaces the content of a repository's branch main, {"app/configmap.yaml": text or object}. Returns the commit's id."""
        work = self.directory / name
        if not work.exists():
            work.mkdir()
            _git("init", "--quiet", "--initial-branch=main", directory=work)
        for entry in work.iterdir():
            if entry.name != ".git":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for path, content in files.items():
            file = work / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        _git("add", "--all", directory=work)
        _git("commit", "--quiet", "--allow-empty", "--message", "Change the application", directory=work)
        return _git("rev-parse", "HEAD", directory=work)
