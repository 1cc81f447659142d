#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bill of materials of a source tarball, as SPDX 2.3 in JSON: each file with its checksums, and the libraries that k2hft is
built with. The same tarball gives the same bytes.

    packaging/sbom.py build/k2hft-0.1.0.tar.gz >build/k2hft-0.1.0.spdx.json"""
import hashlib
import json
import re
import sys
import tarfile
import time

HOME = "https://k2hft.example.org/"
AUTHORS = "Organization: The k2hft authors (authors@k2hft.example.org)"
# The libraries of pkgconfig/install-deps: licence, and what needs them.
LIBRARIES = {
    "fuse3": ("LGPL-2.1-only", "k2hftfuse"), "libevent": ("BSD-3-Clause", "k2hftfusesvr, k2hft"),
    "liblz4": ("BSD-2-Clause", "libk2hft"), "libxxhash": ("BSD-2-Clause", "compiled in, its header only"),
    "inih": ("BSD-3-Clause", "libk2hft-config"), "yaml-0.1": ("MIT", "libk2hft-config"),
    "libpcre2-8": ("BSD-3-Clause", "k2hftfuse, k2hftfusesvr"), "libssl": ("Apache-2.0", "libk2hft"),
    "rdkafka": ("BSD-2-Clause", "module kafka"), "msgpack": ("BSL-1.0", "module forward"),
    "msgpackc": ("BSL-1.0", "module forward"), "libcurl": ("curl", "module otlp"),
    "zlib": ("Zlib", "where OpenSSL or rdkafka want it"), "libprotobuf-c": ("BSD-2-Clause", "module otlp"), "libzstd": ("BSD-3-Clause", "k2hftfusesvr"),
}


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def file_of(member, content):
    return {
        "fileName": "./" + member.name.split("/", 1)[1],
        "SPDXID": identifier("File-" + hashlib.sha1(member.name.encode()).hexdigest()),
        "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
                      {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}],
        "licenseConcluded": "MIT", "licenseInfoInFiles": ["MIT"], "copyrightText": "2026 The k2hft authors",
    }


def library_of(name):
    licence, use = LIBRARIES.get(name, ("NOASSERTION", "see pkgconfig/install-deps"))
    return {"name": name, "SPDXID": identifier("Library-" + name), "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", "comment": use}


def modules_of(install_deps):
    """Those of programs, libraries and modules, as pkgconfig/install-deps names them; only the tests take cmocka."""
    found = re.findall(r"^module:(\S+)", install_deps, re.M)
    return [name for name in dict.fromkeys(found) if name != "cmocka"]


def main():
    path = sys.argv[1]
    with open(path, "rb") as file:
        whole = hashlib.sha256(file.read()).hexdigest()
    files, wanted = [], []
    with tarfile.open(path) as archive:
        root = archive.next()
        for member in archive:
            if member.isfile():
                content = archive.extractfile(member).read()
                files.append(file_of(member, content))
                if member.name.endswith("/pkgconfig/install-deps"):
                    wanted = modules_of(content.decode())
    version = root.name.rsplit("-", 1)[1].rstrip("/")
    codes = sorted(file["checksums"][0]["checksumValue"] for file in files)
    package = {
        "name": "k2hft", "SPDXID": "SPDXRef-Package", "versionInfo": version, "supplier": AUTHORS, "downloadLocation": HOME,
        "filesAnalyzed": True, "licenseConcluded": "MIT", "licenseDeclared": "MIT", "licenseInfoFromFiles": ["MIT"],
        "copyrightText": "2026 The k2hft authors", "primaryPackagePurpose": "SOURCE", "packageFileName": path.split("/")[-1],
        "checksums": [{"algorithm": "SHA256", "checksumValue": whole}],
        "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(codes).encode()).hexdigest()},
        "hasFiles": [file["SPDXID"] for file in files],
    }
    libraries = [library_of(name) for name in wanted]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package")]
    relations += [("SPDXRef-Package", "DEPENDS_ON", library["SPDXID"]) for library in libraries]
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"k2hft-{version}",
        "documentNamespace": f"{HOME}spdx/k2hft-{version}-{whole}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(root.mtime)),
                         "creators": [AUTHORS, "Tool: packaging/sbom.py"]},
        "packages": [package, *libraries], "files": files,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations],
    }
    json.dump(document, sys.stdout, indent=1)
    print()


main()
