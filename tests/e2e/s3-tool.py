"""What the tests need of S3 that this project does not do itself, through boto3.

ENDPOINT, ACCESS_KEY and SECRET_KEY come from the environment.

  s3-tool.py download BUCKET PREFIX DIR   every object to DIR/<aa>/<name>; prints what was found
  s3-tool.py assume-role POLICY           temporary credentials under a policy
  s3-tool.py quota BUCKET BYTES           limits a bucket of MinIO
"""

import hashlib
import json
import os
import pathlib
import sys
import urllib.request

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ENDPOINT = os.environ["ENDPOINT"]
KEYS = os.environ["ACCESS_KEY"], os.environ["SECRET_KEY"]
REGION = "us-east-1"


def client(service):
    return boto3.client(
        service,
        endpoint_url=ENDPOINT,
        region_name=REGION,
        aws_access_key_id=KEYS[0],
        aws_secret_access_key=KEYS[1],
    )


def download(bucket, prefix, folder):
    s3 = client("s3")
    found = []
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for entry in page.get("Contents", []):
            name = entry["Key"][len(prefix) :]
            data = s3.get_object(Bucket=bucket, Key=entry["Key"])["Body"].read()
            path = pathlib.Path(folder, name[:2], name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            sha256 = hashlib.sha256(data).hexdigest()
            found.append({"name": name, "size": entry["Size"], "length": len(data), "sha256": sha256})
    return found


def assume_role(policy):
    answer = client("sts").assume_role(
        RoleArn="arn:aws:iam::000000000000:role/any", RoleSessionName="test", Policy=policy
    )["Credentials"]
    return {
        "accessKeyId": answer["AccessKeyId"],
        "secretAccessKey": answer["SecretAccessKey"],
        "sessionToken": answer["SessionToken"],
    }


def quota(bucket, limit):
    """MinIO's own call; boto3 does not know it, but can sign it."""
    body = json.dumps({"quota": int(limit), "size": int(limit), "quotatype": "hard"}).encode()
    url = f"{ENDPOINT}/minio/admin/v3/set-bucket-quota?bucket={bucket}"
    headers = {"x-amz-content-sha256": hashlib.sha256(body).hexdigest()}
    request = AWSRequest("PUT", url, data=body, headers=headers)
    SigV4Auth(Credentials(*KEYS), "s3", REGION).add_auth(request)
    sent = urllib.request.Request(url, data=body, method="PUT", headers=dict(request.headers))
    with urllib.request.urlopen(sent) as answer:
        return answer.status


COMMANDS = {"download": download, "assume-role": assume_role, "quota": quota}
print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
