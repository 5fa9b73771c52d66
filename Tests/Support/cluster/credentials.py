#!/usr/bin/env python3
"""Makes what `nsc` makes: an operator, an account with JetStream and a user's credentials.

    credentials.py FOLDER

Writes FOLDER/user.creds, and prints the lines of nats-server's settings that trust it. The form is NATS' JWT, version 2:
https://github.com/nats-io/jwt.
"""
import base64
import json
import os
import sys
import time

import nkeys


def pair(kind):
    seed = nkeys.encode_seed(os.urandom(32), kind)
    key = nkeys.from_seed(bytearray(seed))
    return seed.decode(), key, key.public_key.decode()


def part(value):
    data = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(key, issuer, subject, name, nats):
    claims = {"jti": os.urandom(16).hex(), "iat": int(time.time()), "iss": issuer, "name": name, "sub": subject,
              "nats": {**nats, "version": 2}}
    text = part({"typ": "JWT", "alg": "ed25519-nkey"}) + "." + part(claims)
    return text + "." + part(bytes(key.sign(text.encode())))


folder = sys.argv[1]
_, operator, operator_name = pair(nkeys.PREFIX_BYTE_OPERATOR)
_, account, account_name = pair(nkeys.PREFIX_BYTE_ACCOUNT)
_, system, system_name = pair(nkeys.PREFIX_BYTE_ACCOUNT)
seed, _, user_name = pair(nkeys.PREFIX_BYTE_USER)
unlimited = {"subs": -1, "data": -1, "payload": -1}
limits = {**unlimited, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1,
          "streams": -1, "consumer": -1}
operator_jwt = signed(operator, operator_name, operator_name, "tests", {"type": "operator"})
account_jwt = signed(operator, operator_name, account_name, "reprise", {"type": "account", "limits": limits})
# JetStream wants an account of its own, and that one without JetStream.
system_jwt = signed(operator, operator_name, system_name, "system",
                    {"type": "account", "limits": {**limits, "mem_storage": 0, "disk_storage": 0}})
user_jwt = signed(account, account_name, user_name, "gateway", {"type": "user", "pub": {}, "sub": {}, **unlimited})
with open(os.path.join(folder, "user.creds"), "w") as file:
    file.write(f"-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n"
               f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n")
print(f'operator: "{operator_jwt}"\nsystem_account: {system_name}\nresolver: MEMORY\n'
      f'resolver_preload: {{ {account_name}: "{account_jwt}", {system_name}: "{system_jwt}" }}')
