"""A small client of NATS, for scripts that ask what no gateway may."""
import json
import os
import socket
import ssl
import time


class Peer:
    """A connection to NATS, as its protocol has it: https://docs.nats.io/reference/reference-protocols/nats-protocol."""

    def __init__(self, port, folder=None, user=None, password=None, tls=True, host="localhost"):
        self.socket = socket.create_connection((host, port), timeout=5)
        self.socket.recv(65_536)
        if tls:
            context = ssl.create_default_context(cafile=os.path.join(folder, "ca.pem"))
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.file = self.socket.makefile("rb")
        self.send("CONNECT " + json.dumps({"verbose": False, "headers": True, "no_responders": True, "user": user, "pass": password}))
        self.count = 0
        self.ping()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, line, body=None):
        self.socket.sendall(line.encode() + b"\r\n" + (b"" if body is None else body + b"\r\n"))

    def ping(self):
        """Errors and messages until the server has done all before."""
        self.send("PING")
        found = []
        while True:
            line = self.file.readline().decode().strip()
            if not line:
                raise ConnectionError("it has closed")
            if line == "PONG":
                return found
            if line == "PING":
                self.send("PONG")
            elif line.startswith("-ERR"):
                found.append(line)
                if "Authorization" in line:
                    raise PermissionError(line)
            elif line.startswith(("MSG", "HMSG")):
                found.append(self.file.read(int(line.split()[-1]) + 2).decode().strip())

    def may(self, line, body=None):
        self.send(line, body)
        return not any("Permissions Violation" in each for each in self.ping())

    def may_publish(self, subject, body=b""):
        return self.may(f"PUB {subject} {len(body)}", body)

    def may_subscribe(self, subject):
        self.count += 1
        return self.may(f"SUB {subject} {self.count}")

    def ask(self, subject, body):
        """The answer of JetStream's API, as text; empty if none comes."""
        self.count += 1
        inbox, body = f"_INBOX.{os.urandom(8).hex()}", json.dumps(body).encode()
        self.send(f"SUB {inbox} {self.count}")
        self.send(f"PUB {subject} {inbox} {len(body)}", body)
        for _ in range(100):
            found = self.ping()
            if found:
                return found[0]
            time.sleep(0.05)
        return ""
