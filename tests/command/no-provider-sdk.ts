import { plugin } from "bun";

// Preload this to fail a program that loads a provider's SDK.
plugin({
  name: "no-provider-sdk",
  setup(build) {
    build.onLoad({ filter: /node_modules\/(@aws-sdk|@smithy|minio|htmlparser2)\// }, ({ path }) => {
      throw new Error(`${path} is loaded`);
    });
  },
});
