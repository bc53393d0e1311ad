import { plugin } from "bun";

// To be preloaded: fails a program that loads a provider's library.
plugin({
  name: "no-provider-sdk",
  setup(build) {
    build.onLoad({ filter: /node_modules\/(@aws-sdk|@smithy|minio)\// }, ({ path }) => {
      throw new Error(`${path} is loaded`);
    });
  },
});
