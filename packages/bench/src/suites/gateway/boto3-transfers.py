"""Uploads and downloads contents as programs with boto3 do, and measures both.

Environment: IDK_BENCH_JOB, as JSON: endpoint, region, bucket, prefix, accessKeyId and secretAccessKey of a
store, and sizes in bytes. Prints, as JSON, the seconds up and down of each size. Fails if other bytes come
back.
"""

import hashlib
import io
import json
import os
import time

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.client import Config

MIB = 2**20
# The smallest part that S3 allows.
TRANSFER = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB, max_concurrency=3)


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def transfer(s3, job, size):
    key = job["prefix"] + os.urandom(32).hex()
    content = os.urandom(size)
    source = io.BytesIO(content)
    up = timed(lambda: s3.upload_fileobj(source, job["bucket"], key, Config=TRANSFER))
    # Touched before, so that its memory is not allocated while the clock runs.
    back = io.BytesIO()
    back.write(bytes(size))
    back.seek(0)
    down = timed(lambda: s3.download_fileobj(job["bucket"], key, back, Config=TRANSFER))
    if hashlib.sha256(back.getbuffer()).digest() != hashlib.sha256(content).digest():
        raise SystemExit("wrong bytes came back")
    return [up, down]


def main():
    job = json.loads(os.environ["IDK_BENCH_JOB"])
    s3 = boto3.client(
        "s3",
        endpoint_url=job["endpoint"],
        region_name=job["region"],
        aws_access_key_id=job["accessKeyId"],
        aws_secret_access_key=job["secretAccessKey"],
        config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
    )
    # Connections and what boto3 loads when it is first needed.
    transfer(s3, job, 16 * MIB)
    print(json.dumps([transfer(s3, job, size) for size in job["sizes"]]))


main()
