import { describe } from "bun:test";
import { bucketBehaviour } from "./buckets.ts";
import { claimBehaviour } from "./claims.ts";
import type { OpenFixture } from "./fixture.ts";
import { listingBehaviour } from "./listing.ts";
import { objectBehaviour } from "./objects.ts";
import { reservationBehaviour } from "./reservations.ts";
import { transferBehaviour } from "./transfer.ts";
import { uploadBehaviour } from "./uploads.ts";

/** What every catalog does, whatever its database. */
export function catalogBehaviour(open: OpenFixture): void {
  describe("buckets", () => bucketBehaviour(open));
  describe("objects", () => objectBehaviour(open));
  describe("claims", () => claimBehaviour(open));
  describe("reservations", () => reservationBehaviour(open));
  describe("uploads", () => uploadBehaviour(open));
  describe("listing", () => listingBehaviour(open));
  describe("transfer", () => transferBehaviour(open));
}
