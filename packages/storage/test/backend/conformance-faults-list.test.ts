import { attesting } from "./attesting.ts";
import { testFaults } from "./conformance-faults.ts";

const FOREIGN = "notes.txt";

testFaults([
  {
    fault: "lists foreign names",
    noticedBy: ["lists nothing where nothing is", "lists all blobs", "lists 300 blobs"],
    spoil: (right) => ({
      async *list(prefix, options) {
        yield { name: FOREIGN, size: 1 };
        yield* right.list(prefix, options);
      },
    }),
  },
  {
    fault: "lists only the first page",
    noticedBy: ["lists 300 blobs", "lists many blobs of one prefix"],
    spoil: (right) => ({
      async *list(prefix, options) {
        let left = 100;
        for await (const blob of right.list(prefix, options)) if (left-- > 0) yield blob;
      },
    }),
  },
  {
    fault: "lists a blob twice",
    noticedBy: ["each once"],
    spoil: (right) => ({
      async *list(prefix, options) {
        for await (const blob of right.list(prefix, options)) yield* [blob, blob];
      },
    }),
  },
  {
    fault: "lists wrong sizes",
    noticedBy: ["lists all blobs with their sizes", "size of what replaced a blob"],
    spoil: (right) => ({
      async *list(prefix, options) {
        for await (const { name } of right.list(prefix, options)) yield { name, size: 0 };
      },
    }),
  },
  {
    fault: "takes only two digits of a prefix",
    noticedBy: ["begin with a prefix", "a prefix that no name has"],
    spoil: (right) => ({ list: (prefix, options) => right.list(prefix.slice(0, 2), options) }),
  },
  {
    fault: "lists in no order, but goes on behind a name",
    noticedBy: ["lists in the order of names"],
    right: attesting,
    spoil: (right) => ({
      async *list(prefix, options) {
        yield* (await Array.fromAsync(right.list(prefix, options))).toReversed();
      },
    }),
  },
  {
    fault: "goes on with the name itself",
    noticedBy: ["lists in the order of names"],
    right: attesting,
    spoil: (right) => ({
      async *listAfter(prefix, after, options) {
        const info = await right.head(after);
        if (info && after.startsWith(prefix)) yield { name: after, size: info.size };
        yield* right.listAfter!(prefix, after, options);
      },
    }),
  },
  {
    fault: "goes on with whatever has no prefix",
    noticedBy: ["lists in the order of names"],
    right: attesting,
    spoil: (right) => ({
      listAfter: (_prefix, after, options) => right.listAfter!("", after, options),
    }),
  },
  {
    fault: "goes on from the beginning",
    noticedBy: ["lists in the order of names"],
    right: attesting,
    spoil: (right) => ({ listAfter: (prefix, _after, options) => right.list(prefix, options) }),
  },
]);
