"""S3 operations for tests that this project does not have itself, through boto3.

ENDPOINT, ACCESS_KEY and SECRET_KEY come from the environment.

  s3-tool.py download BUCKET PREFIX DIR   every object to DIR/<aa>/<name>; prints a list of them
  s3-tool.py assume-role POLICY           temporary credentials restricted by a policy
  s3-tool.py quota BUCKET BYTES           sets the quota of a MinIO bucket
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
    credentials = client("sts").assume_role(
        RoleArn="arn:aws:iam::000000000000:role/any", RoleSessionName="test", Policy=policy
    )["Credentials"]
    return {
        "accessKeyId": credentials["AccessKeyId"],
        "secretAccessKey": credentials["SecretAccessKey"],
        "sessionToken": credentials["SessionToken"],
    }


def quota(bucket, limit):
    """Calls MinIO's admin API, which boto3 does not have but can sign for."""
    body = json.dumps({"quota": int(limit), "size": int(limit), "quotatype": "hard"}).encode()
    url = f"{ENDPOINT}/minio/admin/v3/set-bucket-quota?bucket={bucket}"
    headers = {"x-amz-content-sha256": hashlib.sha256(body).hexdigest()}
    request = AWSRequest("PUT", url, data=body, headers=headers)
    SigV4Auth(Credentials(*KEYS), "s3", REGION).add_auth(request)
    sent = urllib.request.Request(url, data=body, method="PUT", headers=dict(request.headers))
    with urllib.request.urlopen(sent) as response:
        return response.status


COMMANDS = {"download": download, "assume-role": assume_role, "quota": quota}
print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
