import { plugin } from "bun";

// Preload this to fail a program of this repository that loads one of Node's modules which take longer to
// load than a small blob takes to store: they load Node's streams, sockets or OpenSSL's interface.
const SLOW: ReadonlySet<string> = new Set(
  ["child_process", "crypto", "http", "https", "net", "readline", "stream", "tls", "tty"]
    .concat("worker_threads", "zlib")
    .map((name) => `node:${name}`),
);

function refuse(name: string): void {
  if (SLOW.has(name)) throw new Error(`${name} is loaded`);
}

const transpiler = new Bun.Transpiler({ loader: "ts" });
plugin({
  name: "no-slow-modules",
  setup(build) {
    // Bun resolves its own modules without asking plugins, so look at what each loaded file imports.
    build.onLoad({ filter: /\/packages\/[^/]+\/src\/.*\.ts$/u }, async ({ path }) => {
      const contents = await Bun.file(path).text();
      // The scanner takes no first line for a shell.
      for (const { kind, path: name } of transpiler.scanImports(contents.replace(/^#!/u, "//"))) {
        if (kind === "import-statement") refuse(name);
      }
      return { contents, loader: "ts" };
    });
  },
});

const { getBuiltinModule } = process;
process.getBuiltinModule = (name: string) => {
  refuse(name);
  return getBuiltinModule(name);
};
