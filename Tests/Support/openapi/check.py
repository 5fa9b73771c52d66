#!/usr/bin/env python3
"""Holds an OpenAPI document against what a server answered.

    check.py docs/openapi.json recorded.json

`recorded.json` has the `routes` of the server's router ("GET /v1/me") and `exchanges`: operation, request (path, query,
headers, body) and response (status, headers, body). Bodies are base64. Prints each breach in a line; exits with 1 if there
was one.
"""

import base64
import json
import sys
from urllib.parse import unquote

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class Document:
    """The document, its references followed."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.root = strict_json(file.read())
        resource = DRAFT202012.create_resource(self.root)
        self.registry = Registry().with_resource("urn:document", resource)

    def follow(self, pointer):
        """The object at a pointer and where it really stands, behind any `$ref`."""
        node = self.root
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            node = node[int(key)] if isinstance(node, list) else node[key]
        if isinstance(node, dict) and set(node) == {"$ref"}:
            return self.follow(node["$ref"].removeprefix("#"))
        return node, pointer

    def operations(self):
        for path, item in self.root["paths"].items():
            for method in METHODS:
                if method in item:
                    yield f"{method.upper()} {path}", f"/paths/{escaped(path)}/{method}"

    def breaches(self, pointer, value):
        """What is wrong with a value, by the schema at a pointer."""
        schema = {"$ref": f"urn:document#{pointer}"}
        for error in Draft202012Validator(schema, registry=self.registry).iter_errors(value):
            yield f"{error.json_path}: {error.message[:300]}"

    def is_integer(self, pointer):
        schema = self.follow(pointer)[0]
        if "$ref" in schema:
            return self.is_integer(schema["$ref"].removeprefix("#"))
        return schema.get("type") == "integer"

    def parameters(self, operation):
        pointers = []
        item = operation.rsplit("/", 1)[0]
        for place in (item, operation):
            count = len(self.follow(place)[0].get("parameters", []))
            pointers += [f"{place}/parameters/{index}" for index in range(count)]
        return [self.follow(pointer) for pointer in pointers]


def escaped(key):
    return key.replace("~", "~0").replace("/", "~1")


def strict_json(text):
    def unique(pairs):
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=unique, parse_constant=lambda word: 1 / 0)


def values_of(content_type, body):
    """The values that a body holds, each to be valid by the schema."""
    text = body.decode("utf-8")
    if content_type in ("application/json", "application/merge-patch+json"):
        return [strict_json(text)]
    if content_type == "application/x-ndjson":
        return [strict_json(line) for line in text.split("\n") if line.strip()]
    return [text]


def content_breaches(document, content, pointer, headers, body):
    """What is wrong with a body, by a `content` object."""
    content_type = headers.get("content-type", "").split(";")[0].strip()
    if content_type not in content:
        yield f"the content type {content_type!r} is not documented"
        return
    try:
        values = values_of(content_type, body)
    except ValueError as error:
        yield f"the body cannot be read: {error}"
        return
    for value in values:
        yield from document.breaches(f"{pointer}/content/{escaped(content_type)}/schema", value)


def response_breaches(document, operation, exchange):
    response = exchange["response"]
    documented = document.follow(operation)[0]["responses"]
    status = str(response["status"])
    if status not in documented:
        yield "the status is not documented"
        return
    expected, pointer = document.follow(f"{operation}/responses/{status}")
    body = base64.b64decode(response["body"])
    for name in expected.get("headers", {}):
        header, place = document.follow(f"{pointer}/headers/{escaped(name)}")
        value = response["headers"].get(name.lower())
        if value is None:
            if header.get("required"):
                yield f"the header {name} is missing"
            continue
        schema = f"{place}/schema"
        yield from document.breaches(schema, int(value) if document.is_integer(schema) else value)
    if "content" in expected:
        yield from content_breaches(
            document, expected["content"], pointer, response["headers"], body
        )
    elif body:
        yield "there is a body where none is documented"


def request_breaches(document, operation, template, request):
    """What is wrong with a request that the server took for good."""
    found = {("query", name): value for name, value in request["query"]}
    parts = zip(template.split("/"), request["path"].split("/"), strict=True)
    for name, value in parts:
        if name.startswith("{"):
            found["path", name[1:-1]] = unquote(value, errors="strict")
    for parameter, pointer in document.parameters(operation):
        value = found.pop((parameter["in"], parameter["name"]), None)
        if value is None:
            if parameter.get("required"):
                yield f"the parameter {parameter['name']} is missing"
            continue
        if document.is_integer(f"{pointer}/schema"):
            value = int(value)
        yield from document.breaches(f"{pointer}/schema", value)
    for place, name in found:
        yield f"the {place} parameter {name} is not documented"
    body = base64.b64decode(request["body"])
    expected = document.follow(operation)[0].get("requestBody")
    if expected is None:
        if body:
            yield "the request has a body where none is documented"
    elif body:
        yield from content_breaches(
            document, expected["content"], f"{operation}/requestBody", request["headers"], body
        )
    elif expected.get("required"):
        yield "the request has no body"


def example_breaches(document, node, pointer):
    """Examples that break the schema beside them."""
    if isinstance(node, list):
        for index, child in enumerate(node):
            yield from example_breaches(document, child, f"{pointer}/{index}")
        return
    if not isinstance(node, dict):
        return
    if "schema" in node:
        examples = [node["example"]] if "example" in node else []
        examples += [example["value"] for example in node.get("examples", {}).values()]
        for example in examples:
            for breach in document.breaches(f"{pointer}/schema", example):
                yield f"an example at {pointer}: {breach}"
    for key, child in node.items():
        if key not in ("example", "examples"):
            yield from example_breaches(document, child, f"{pointer}/{escaped(key)}")


def breaches(document, recorded):
    for error in OpenAPIV31SpecValidator(document.root).iter_errors():
        yield f"the document: {error.message[:300]}"
    yield from example_breaches(document, document.root, "")
    operations = dict(document.operations())
    for route in sorted(set(recorded["routes"]) - set(operations)):
        yield f"{route}: the server has it, the document does not"
    for route in sorted(set(operations) - set(recorded["routes"])):
        yield f"{route}: the document has it, the server does not"
    seen = set()
    for exchange in recorded["exchanges"]:
        name, response = exchange["operation"], exchange["response"]
        if name not in operations:
            yield f"{name}: an exchange of no operation"
            continue
        content_type = response["headers"].get("content-type", "").split(";")[0].strip()
        seen.add((name, str(response["status"])))
        seen.add((name, str(response["status"]), content_type))
        place = f"{name} {response['status']}"
        for breach in response_breaches(document, operations[name], exchange):
            yield f"{place}: {breach}"
        if response["status"] < 400:
            template = name.split(" ")[1]
            request = exchange["request"]
            for breach in request_breaches(document, operations[name], template, request):
                yield f"{place}: of the request: {breach}"
    for name, pointer in operations.items():
        for status in document.follow(pointer)[0]["responses"]:
            if (name, status) not in seen:
                yield f"{name} {status}: documented, but no exchange got it"
            response, _ = document.follow(f"{pointer}/responses/{status}")
            for content_type in response.get("content", {}):
                if (name, status, content_type) not in seen:
                    yield f"{name} {status}: no exchange got it as {content_type}"


def main():
    document = Document(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        recorded = json.load(file)
    found = list(breaches(document, recorded))
    for breach in found:
        print(breach)
    if not found:
        print(f"{len(recorded['exchanges'])} exchanges keep the document")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
