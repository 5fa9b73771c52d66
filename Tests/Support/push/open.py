"""Opens a message sealed by RFC 8291 with PyPI's http-ece: open.py KEY SECRET BODY, in base64; the text to standard output."""
import base64
import sys

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


key = ec.derive_private_key(int.from_bytes(decoded(sys.argv[1]), "big"), ec.SECP256R1())
text = http_ece.decrypt(
    base64.b64decode(sys.argv[3]), private_key=key, auth_secret=decoded(sys.argv[2]), version="aes128gcm")
sys.stdout.buffer.write(text)
