import { expect, test } from "bun:test";
import { isMet } from "../../src/harness/measure.ts";
import { peerTargets } from "../../thirdparty/targets.ts";

const competitors = ["rclone crypt", "age | aws s3 cp", "restic"];
const put = { idk: 1, "rclone crypt": 2, "rclone plain": 0.5, "age | aws s3 cp": 1, restic: 3 };
const get = { idk: 1, "rclone crypt": 1.2, "rclone plain": 0.5, "age | aws s3 cp": 2, restic: 2 };
const missed = (slower: Partial<typeof put>, slowerGet: Partial<typeof get> = {}) =>
  peerTargets({ ...put, ...slower }, { ...get, ...slowerGet }, competitors)
    .filter((target) => !isMet(target))
    .map(({ name }) => name);

test("twice the speed of rclone crypt and restic, and the speed of age, meets all targets", () => {
  expect(missed({})).toEqual([]);
});

test("each target can be missed alone", () => {
  expect(missed({ "rclone crypt": 1.9 })).toEqual(["put, speed relative to rclone crypt"]);
  expect(missed({ restic: 1.9 })).toEqual(["put, speed relative to restic"]);
  expect(missed({ "age | aws s3 cp": 0.9 })).toEqual(["put, speed relative to age | aws s3 cp"]);
});

test("a get is compared with the fastest program that encrypts", () => {
  expect(missed({}, { restic: 1.1 })).toEqual(["get, speed relative to the fastest, restic"]);
  expect(missed({}, { "rclone plain": 0.1 })).toEqual([]);
});
