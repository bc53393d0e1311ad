import type { Environment } from "../../suite.ts";

/** The variables with the paths of the programs that `script/peers` installs. */
const VARIABLES = {
  rclone: "IDK_PEER_RCLONE",
  age: "IDK_PEER_AGE",
  ageKeygen: "IDK_PEER_AGE_KEYGEN",
  restic: "IDK_PEER_RESTIC",
  kopia: "IDK_PEER_KOPIA",
  aws: "IDK_PEER_AWS",
} as const;

export type Peers = Readonly<Record<keyof typeof VARIABLES, string>>;

export function peersFrom(env: Environment): Peers {
  const paths = Object.entries(VARIABLES).map(([name, variable]) => [name, env[variable] ?? ""]);
  return Object.fromEntries(paths);
}

/** What to do if they are not installed. */
export function missingPeers(env: Environment): string | undefined {
  const unset = Object.values(VARIABLES).filter((name) => !env[name]);
  if (unset.length === 0) return undefined;
  return `${unset.join(", ")} not set: run script/peers run script/minio run script/idk bench peers`;
}
