/** What the measured server answers, and what its clients send. */
import { createHash } from "node:crypto";

export interface Endpoint {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  /** JSON. */
  readonly body?: string | undefined;
  /** JSON. */
  readonly answer: () => string;
}

const ROUNDS_OF_SHA256 = 1000;

/** A list as JSON, of at least so many bytes. */
function list(bytes: number): string {
  const items: string[] = [];
  for (let length = 2; length < bytes;) {
    const id = items.length;
    const item = JSON.stringify({ id, name: `name ${id}`, price: id / 4, tags: ["new", "old"] });
    items.push(item);
    length += item.length + 1;
  }
  return `[${items.join()}]`;
}

const MEDIUM = list(100_000);
export const LARGE: string = list(1_000_000);

function computeHash(): string {
  let hash = Buffer.from("seed");
  for (let i = 0; i < ROUNDS_OF_SHA256; i++) hash = createHash("sha256").update(hash).digest();
  return JSON.stringify({ hash: hash.toString("hex") });
}

/** Of members that are redacted without a rule. */
const SECRETS = ["a password", "a token", "078-05-1120"] as const;
const [PASSWORD, TOKEN, SSN] = SECRETS;
const LOGIN = JSON.stringify({ email: "me@example.org", password: PASSWORD, remember: true });
const SESSION = JSON.stringify({ token: TOKEN, user: { ssn: SSN, name: "me" } });

/** A body as it is recorded if it is not cut. */
export function recordedText(body: string): string {
  return SECRETS.reduce((text, secret) => text.replace(secret, "***"), body);
}

export const ENDPOINTS: readonly Endpoint[] = [
  {
    name: "simple",
    method: "GET",
    path: "/api/simple",
    answer: () => JSON.stringify({ message: "hello", items: [1, 2, 3] }),
  },
  { name: "compute-hash", method: "GET", path: "/api/compute-hash", answer: computeHash },
  { name: "medium", method: "GET", path: "/api/medium", answer: () => MEDIUM },
  { name: "large", method: "GET", path: "/api/large", answer: () => LARGE },
  {
    name: "large-post",
    method: "POST",
    path: "/api/large-post",
    body: LARGE,
    answer: () => JSON.stringify({ ok: true }),
  },
  {
    name: "sensitive",
    method: "POST",
    path: "/api/login",
    body: LOGIN,
    answer: () => SESSION,
  },
];
