import { requireServer } from "../../../../../tests/servers/require-server.ts";
import { newBucket, REGION, versitygwServer } from "../../../../../tests/servers/s3-servers.ts";
import { conforms, conformsAsB2, overS3 } from "./s3.ts";

requireServer("versitygw")("s3 on versitygw", () => {
  conforms(() => newBucket(versitygwServer()), overS3);
});

requireServer("versitygw")("s3 on versitygw with versions", () => {
  conforms(() => newBucket(versitygwServer(), { versioning: true }), overS3, 50);
});

// versitygw accepts signatures for its own region only.
requireServer("versitygw")("b2 on versitygw behind a B2-like proxy", () =>
  conformsAsB2(versitygwServer, REGION),
);
