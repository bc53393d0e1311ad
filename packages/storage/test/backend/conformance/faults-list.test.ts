import { attesting } from "../attesting.ts";
import { testFaults } from "./faults.ts";

const FOREIGN = "notes.txt";

testFaults([
  {
    fault: "lists foreign names",
    detectedBy: [
      "lists nothing if there are no blobs",
      "lists all blobs",
      "lists each of 300 blobs",
    ],
    override: (correct) => ({
      async *list(prefix, options) {
        yield { name: FOREIGN, size: 1 };
        yield* correct.list(prefix, options);
      },
    }),
  },
  {
    fault: "lists only the first page",
    detectedBy: ["lists each of 300 blobs"],
    override: (correct) => ({
      async *list(prefix, options) {
        let left = 100;
        for await (const blob of correct.list(prefix, options)) if (left-- > 0) yield blob;
      },
    }),
  },
  {
    fault: "lists a blob twice",
    detectedBy: ["lists each of"],
    override: (correct) => ({
      async *list(prefix, options) {
        for await (const blob of correct.list(prefix, options)) yield* [blob, blob];
      },
    }),
  },
  {
    fault: "lists wrong sizes",
    detectedBy: ["lists all blobs with their sizes", "lists a replaced blob once"],
    override: (correct) => ({
      async *list(prefix, options) {
        for await (const { name } of correct.list(prefix, options)) yield { name, size: 0 };
      },
    }),
  },
  {
    fault: "uses only two digits of a prefix",
    detectedBy: ["start with a prefix", "a prefix that matches no name"],
    override: (correct) => ({
      list: (prefix, options) => correct.list(prefix.slice(0, 2), options),
    }),
  },
  {
    fault: "has listAfter, but lists in no order",
    detectedBy: ["in order if it has listAfter"],
    correct: attesting,
    override: (correct) => ({
      async *list(prefix, options) {
        yield* (await Array.fromAsync(correct.list(prefix, options))).toReversed();
      },
    }),
  },
  {
    fault: "lists the name itself in listAfter",
    detectedBy: ["in order if it has listAfter"],
    correct: attesting,
    override: (correct) => ({
      async *listAfter(prefix, after, options) {
        const info = await correct.head(after);
        if (info && after.startsWith(prefix)) yield { name: after, size: info.size };
        yield* correct.listAfter!(prefix, after, options);
      },
    }),
  },
  {
    fault: "ignores the prefix in listAfter",
    detectedBy: ["in order if it has listAfter"],
    correct: attesting,
    override: (correct) => ({
      listAfter: (_prefix, after, options) => correct.listAfter!("", after, options),
    }),
  },
  {
    fault: "ignores the name in listAfter",
    detectedBy: ["in order if it has listAfter"],
    correct: attesting,
    override: (correct) => ({
      listAfter: (prefix, _after, options) => correct.list(prefix, options),
    }),
  },
]);
