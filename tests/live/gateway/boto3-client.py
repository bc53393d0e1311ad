"""Uses a gateway as programs with boto3 do. Prints presigned URLs as JSON; fails at the first fault.

Environment: ENDPOINT, ACCESS_KEY, SECRET_KEY, and AWS_CA_BUNDLE for TLS.
"""

import base64
import hashlib
import io
import json
import os

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.client import Config
from botocore.exceptions import ClientError

MIB = 2**20
BUCKET = "boto3-clients"


def client(**config):
    return boto3.client(
        "s3",
        endpoint_url=os.environ["ENDPOINT"],
        aws_access_key_id=os.environ["ACCESS_KEY"],
        aws_secret_access_key=os.environ["SECRET_KEY"],
        region_name="us-east-1",
        config=Config(retries={"max_attempts": 1}, **config),
    )


def code_of(call, **given):
    try:
        call(**given)
    except ClientError as error:
        return error.response["Error"]["Code"]
    raise AssertionError(f"{call} was not refused")


def check(actual, expected):
    assert actual == expected, f"{actual!r} is not {expected!r}"


def put_and_get(s3):
    content = os.urandom(3 * MIB)
    for algorithm in ("CRC32", "SHA1", "SHA256"):
        put = s3.put_object(Bucket=BUCKET, Key="sums", Body=content, ChecksumAlgorithm=algorithm)
        check(put["ETag"], f'"{hashlib.md5(content).hexdigest()}"')
        got = s3.get_object(Bucket=BUCKET, Key="sums", ChecksumMode="ENABLED")
        check(got[f"Checksum{algorithm}"], put[f"Checksum{algorithm}"])
        check(got["Body"].read(), content)
    wrong = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    check(code_of(s3.put_object, Bucket=BUCKET, Key="sums", Body=b"x", ChecksumSHA256=wrong), "BadDigest")
    wrong = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    check(code_of(s3.put_object, Bucket=BUCKET, Key="sums", Body=b"x", ContentMD5=wrong), "BadDigest")
    # Nothing of those was stored.
    check(s3.head_object(Bucket=BUCKET, Key="sums")["ContentLength"], len(content))


def headers(s3):
    s3.put_object(
        Bucket=BUCKET,
        Key="headers",
        Body=b"hello",
        CacheControl="no-store",
        ContentDisposition='attachment; filename="a.txt"',
        ContentEncoding="gzip",
        ContentLanguage="en",
        ContentType="text/x",
        Metadata={"name": "a  b", "number": "1"},
        Tagging="a=1&b=x%20y",
    )
    head = s3.head_object(Bucket=BUCKET, Key="headers")
    check(head["CacheControl"], "no-store")
    check(head["ContentEncoding"], "gzip")
    check(head["ContentType"], "text/x")
    check(head["Metadata"]["number"], "1")
    check(len(s3.get_object_tagging(Bucket=BUCKET, Key="headers")["TagSet"]), 2)
    check(code_of(s3.head_object, Bucket=BUCKET, Key="headers", IfNoneMatch=head["ETag"]), "304")
    check(code_of(s3.head_object, Bucket=BUCKET, Key="headers", IfMatch='"x"'), "412")
    check(code_of(s3.get_object, Bucket=BUCKET, Key="headers", Range="bytes=5-"), "InvalidRange")
    s3.copy_object(
        Bucket=BUCKET,
        Key="headers",
        CopySource={"Bucket": BUCKET, "Key": "headers"},
        MetadataDirective="REPLACE",
        Metadata={"new": "yes"},
    )
    check(s3.head_object(Bucket=BUCKET, Key="headers")["Metadata"], {"new": "yes"})
    got = s3.get_object(Bucket=BUCKET, Key="headers", ResponseContentType="text/y")
    check((got["ContentType"], got["Body"].read()), ("text/y", b"hello"))


def transfers(s3):
    content = os.urandom(23 * MIB + 11)
    config = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB, max_concurrency=3)
    s3.upload_fileobj(io.BytesIO(content), BUCKET, "large", Config=config)
    back = io.BytesIO()
    s3.download_fileobj(BUCKET, "large", back, Config=config)
    check(hashlib.sha256(back.getvalue()).digest(), hashlib.sha256(content).digest())
    check(s3.get_object(Bucket=BUCKET, Key="large", PartNumber=2)["PartsCount"], 5)
    s3.copy({"Bucket": BUCKET, "Key": "large"}, BUCKET, "copy", Config=config)
    check(s3.get_object(Bucket=BUCKET, Key="copy")["Body"].read() == content, True)
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="aborted")["UploadId"]
    s3.upload_part(Bucket=BUCKET, Key="aborted", UploadId=upload, PartNumber=1, Body=b"x")
    uploads = s3.list_multipart_uploads(Bucket=BUCKET)["Uploads"]
    check([each["UploadId"] for each in uploads], [upload])
    s3.abort_multipart_upload(Bucket=BUCKET, Key="aborted", UploadId=upload)
    check(code_of(s3.list_parts, Bucket=BUCKET, Key="aborted", UploadId=upload), "NoSuchUpload")


def lists(s3):
    keys = [f"list/{folder}/{name:03}" for folder in "abc" for name in range(20)] + ["list/a-b", "list/ü"]
    for key in keys:
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"")
    in_order = sorted(keys, key=lambda key: key.encode())
    for operation in ("list_objects", "list_objects_v2"):
        pages = s3.get_paginator(operation).paginate(Bucket=BUCKET, Prefix="list/", PaginationConfig={"PageSize": 7})
        check([each["Key"] for page in pages for each in page["Contents"]], in_order)
        pages = s3.get_paginator(operation).paginate(
            Bucket=BUCKET, Prefix="list/", Delimiter="/", PaginationConfig={"PageSize": 2}
        )
        found = [
            each.get("Key") or each["Prefix"]
            for page in pages
            for each in page.get("Contents", []) + page.get("CommonPrefixes", [])
        ]
        check(sorted(found), sorted(["list/a-b", "list/a/", "list/b/", "list/c/", "list/ü"]))
    versions = s3.list_object_versions(Bucket=BUCKET, Prefix="list/a/")["Versions"]
    check({each["VersionId"] for each in versions}, {"null"})
    deleted = s3.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": key} for key in keys]})
    check((len(deleted["Deleted"]), deleted.get("Errors")), (len(keys), None))


def settings(s3):
    check(s3.get_bucket_location(Bucket=BUCKET)["LocationConstraint"], None)
    check("Status" in s3.get_bucket_versioning(Bucket=BUCKET), False)
    check(code_of(s3.get_bucket_policy, Bucket=BUCKET), "NoSuchBucketPolicy")
    check(code_of(s3.get_bucket_lifecycle_configuration, Bucket=BUCKET), "NoSuchLifecycleConfiguration")
    check(len(s3.get_bucket_acl(Bucket=BUCKET)["Grants"]), 1)
    check(code_of(s3.put_object_acl, Bucket=BUCKET, Key="large", ACL="public-read"), "NotImplemented")
    check(code_of(s3.put_object, Bucket=BUCKET, Key="x", Body=b"", ACL="public-read"), "NotImplemented")
    check(code_of(s3.get_bucket_website, Bucket=BUCKET), "NotImplemented")
    check(code_of(s3.head_bucket, Bucket="missing-bucket"), "404")
    check(code_of(s3.create_bucket, Bucket=BUCKET), "BucketAlreadyOwnedByYou")
    check(code_of(s3.create_bucket, Bucket="192.168.0.1"), "InvalidBucketName")


def presigned(signer):
    given = {"Bucket": BUCKET, "Key": "presigned ü+&.txt"}
    return {
        "put": signer.generate_presigned_url("put_object", Params=given, ExpiresIn=600),
        "get": signer.generate_presigned_url("get_object", Params=given, ExpiresIn=600),
        "type": signer.generate_presigned_url(
            "get_object", Params={**given, "ResponseContentType": "text/z"}, ExpiresIn=600
        ),
        "expired": signer.generate_presigned_url("get_object", Params=given, ExpiresIn=-10),
    }


def main():
    s3 = client()
    s3.create_bucket(Bucket=BUCKET)
    # Signed bodies are sent in another form than unsigned ones.
    signed = client(s3={"payload_signing_enabled": True})
    for each in (s3, signed):
        put_and_get(each)
        headers(each)
        transfers(each)
    lists(s3)
    settings(s3)
    urls = {
        "v4": presigned(client(signature_version="s3v4")),
        "v2": presigned(client(signature_version="s3")),
    }
    print(json.dumps(urls))


main()
