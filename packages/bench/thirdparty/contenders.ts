/** The command lines to store one encrypted file in an object store and to fetch it. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { generateIdentity } from "@idk/storage";
import { type Program, type Ran, publishedCommand, run, shell } from "../src/harness/processes.ts";
import type { ObjectStoreAccess } from "../src/suite.ts";
import type { Peers } from "../src/suites/command/peer-programs.ts";
import { type Contender, commandOf, minioOf } from "../src/suites/command/programs.ts";

export interface Setting {
  /** The file to store. */
  readonly source: string;
  /** Where to fetch it to. */
  readonly fetched: string;
  /** For keys, caches and configuration. */
  readonly folder: string;
  readonly store: ObjectStoreAccess;
  readonly peers: Peers;
  /** Runs and measures a program. */
  start(program: Program): Promise<Ran>;
}

export const PASSWORD = "correct horse battery staple";

/** idk and the programs it is compared with, each with its defaults. They store below a prefix. */
export async function contenders(setting: Setting): Promise<Contender[]> {
  const rclone = await rcloneEnvironment(setting);
  return [
    await idk(setting),
    rcloneRemote("rclone crypt", "sealed:", setting, rclone),
    rcloneRemote("rclone plain", `plain:${setting.store.bucket}/`, setting, rclone),
    await ageAndAws(setting),
    restic(setting),
  ];
}

/** Deletes everything below a prefix. */
export async function purge(
  setting: Pick<Setting, "folder" | "store" | "peers">,
  prefix: string,
): Promise<void> {
  const argv = [setting.peers.rclone, "purge", `plain:${setting.store.bucket}/${prefix}`];
  await run({ argv, env: await rcloneEnvironment(setting) });
}

async function idk({ source, fetched, folder, store, start }: Setting): Promise<Contender> {
  const { env, url } = minioOf(store);
  const idk = await commandOf(await publishedCommand(), folder, await generateIdentity(), env);
  return {
    name: "idk",
    put: (prefix) => start(idk.put(source, url(prefix))),
    get: (prefix, address) => start(idk.get(address, url(prefix), fetched)),
    print: (prefix, address, reader) => start(piped(idk.print(address, url(prefix)), reader)),
  };
}

/** A program whose output another reads. */
function piped({ argv, ...program }: Program, reader: string): Program {
  return { ...program, argv: shell(`"$@" | ${reader}`, argv) };
}

/** @param remote up to the prefix: that of rclone crypt includes the bucket */
function rcloneRemote(
  name: string,
  remote: string,
  { source, fetched, peers, start }: Setting,
  env: Record<string, string>,
): Contender {
  const copy = (from: string, to: string) =>
    start({ argv: [peers.rclone, "copyto", from, to], env });
  const path = (prefix: string) => `${remote}${prefix}/file`;
  return {
    name,
    put: (prefix) => copy(source, path(prefix)),
    get: (prefix) => copy(path(prefix), fetched),
    print: (prefix, _, reader) =>
      start(piped({ argv: [peers.rclone, "cat", path(prefix)], env }, reader)),
  };
}

/** Two remotes without a configuration file: the plain bucket, and a crypt remote on top of it. */
async function rcloneEnvironment({
  folder,
  store: { endpoint, accessKeyId, secretAccessKey, bucket },
  peers: { rclone },
}: Pick<Setting, "folder" | "store" | "peers">): Promise<Record<string, string>> {
  const { stdout } = await run({ argv: [rclone, "obscure", PASSWORD] });
  return {
    // An empty value means no configuration file.
    RCLONE_CONFIG: "",
    RCLONE_CACHE_DIR: join(folder, "rclone"),
    RCLONE_CONFIG_PLAIN_TYPE: "s3",
    RCLONE_CONFIG_PLAIN_PROVIDER: "Minio",
    RCLONE_CONFIG_PLAIN_ENDPOINT: endpoint,
    RCLONE_CONFIG_PLAIN_REGION: "us-east-1",
    RCLONE_CONFIG_PLAIN_ACCESS_KEY_ID: accessKeyId,
    RCLONE_CONFIG_PLAIN_SECRET_ACCESS_KEY: secretAccessKey,
    RCLONE_CONFIG_SEALED_TYPE: "crypt",
    RCLONE_CONFIG_SEALED_REMOTE: `plain:${bucket}`,
    // Plain names, so that the objects of a round can be deleted. Contents are encrypted.
    RCLONE_CONFIG_SEALED_DIRECTORY_NAME_ENCRYPTION: "false",
    RCLONE_CONFIG_SEALED_PASSWORD: stdout.trim(),
  };
}

async function ageAndAws(setting: Setting): Promise<Contender> {
  const { source, fetched, folder, store, peers, start } = setting;
  const { age, ageKeygen, aws } = peers;
  const keyFile = join(folder, "age.key");
  await run({ argv: [ageKeygen, "-o", keyFile] });
  const recipient = /age1[0-9a-z]+/u.exec(await readFile(keyFile, "utf8"))?.[0] ?? "";
  const url = (prefix: string) => `s3://${store.bucket}/${prefix}/file.age`;
  const copy = '"$2" s3 cp --only-show-errors --endpoint-url "$3"';
  const env = awsEnvironment(store);
  const pipe = (script: string, ...args: string[]) =>
    start({ argv: shell(script, [age, aws, store.endpoint, ...args]), env });
  return {
    name: "age | aws s3 cp",
    put: (prefix) => pipe(`"$1" -r "$4" "$5" | ${copy} - "$6"`, recipient, source, url(prefix)),
    get: (prefix) =>
      pipe(`${copy} "$4" - | "$1" -d -i "$5" -o "$6"`, url(prefix), keyFile, fetched),
  };
}

export function awsEnvironment({
  accessKeyId,
  secretAccessKey,
}: ObjectStoreAccess): Record<string, string> {
  return {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_DEFAULT_REGION: "us-east-1",
    // Do not read the user's settings.
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    AWS_EC2_METADATA_DISABLED: "true",
  };
}

function restic({ source, fetched, folder, store, peers, start }: Setting): Contender {
  const program = (prefix: string, ...args: string[]): Program => ({
    argv: [
      peers.restic,
      "--quiet",
      "--repo",
      `s3:${store.endpoint}/${store.bucket}/${prefix}`,
      ...args,
    ],
    env: {
      ...awsEnvironment(store),
      RESTIC_PASSWORD: PASSWORD,
      // One cache per repository: restic normally has one, and it starts empty as for the others.
      RESTIC_CACHE_DIR: join(folder, "restic", prefix),
    },
  });
  const from = `latest:${dirname(source)}`;
  return {
    name: "restic",
    // A new repository for each put, because an existing one would already contain all chunks.
    prepare: (prefix) => run(program(prefix, "init")),
    put: (prefix) => start(program(prefix, "backup", source)),
    get: (prefix) => start(program(prefix, "restore", from, "--target", dirname(fetched))),
  };
}
