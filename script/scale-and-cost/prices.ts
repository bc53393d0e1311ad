/**
 * List prices of providers in US dollars, without taxes and small free allowances. Prices change:
 * check the provider's page before you budget, and update the numbers and the date here.
 */

export interface PriceList {
  readonly name: string;
  /** The provider's price page, and the month when the numbers were last checked. */
  readonly page: string;
  readonly compared: string;
  /** Bytes in the provider's gigabyte. */
  readonly gigabyte: number;
  /** Per gigabyte and month. */
  readonly storage: readonly Tier[];
  /** Per 1,000 requests. */
  readonly put: number;
  readonly get: number;
  readonly list: number;
  /** Per gigabyte to the internet. */
  readonly egress: readonly Tier[];
  /** Free egress per month, as a multiple of the stored bytes. */
  readonly freeReads: number;
  /** Documented requests per second, per partition of names or per account. */
  readonly rate: { readonly put: number; readonly get: number; readonly per: string };
}

/** A price up to a number of gigabytes; the last tier is unlimited. */
export interface Tier {
  readonly upTo: number;
  readonly price: number;
}

const TERA = 1024;

export const S3: PriceList = {
  name: "S3 Standard, us-east-1",
  page: "https://aws.amazon.com/s3/pricing/",
  compared: "2026-06",
  gigabyte: 2 ** 30,
  storage: [
    { upTo: 50 * TERA, price: 0.023 },
    { upTo: 500 * TERA, price: 0.022 },
    { upTo: Infinity, price: 0.021 },
  ],
  put: 0.005,
  get: 0.0004,
  list: 0.005,
  egress: [
    { upTo: 10 * TERA, price: 0.09 },
    { upTo: 50 * TERA, price: 0.085 },
    { upTo: 150 * TERA, price: 0.07 },
    { upTo: Infinity, price: 0.05 },
  ],
  freeReads: 0,
  // docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
  rate: { put: 3500, get: 5500, per: "partition of names" },
};

export const B2: PriceList = {
  name: "Backblaze B2",
  page: "https://www.backblaze.com/cloud-storage/pricing",
  compared: "2026-09",
  gigabyte: 1e9,
  storage: [{ upTo: Infinity, price: 0.00695 }],
  put: 0,
  get: 0,
  list: 0,
  egress: [{ upTo: Infinity, price: 0.01 }],
  freeReads: 3,
  // www.backblaze.com/docs/cloud-storage-rate-limits, new accounts; more on request
  rate: { put: 500, get: 500, per: "account" },
};

/** The cost of an amount with tiered prices. */
export function tiered(amount: number, tiers: readonly Tier[]): number {
  let [cost, from] = [0, 0];
  for (const { upTo, price } of tiers) {
    if (amount <= from) break;
    cost += (Math.min(amount, upTo) - from) * price;
    from = upTo;
  }
  return cost;
}
