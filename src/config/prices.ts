/** Reads the operator's price file: US dollars per million tokens, by model name. */

import { z } from "zod";
import { err, messageOf, ok, type Result } from "#src/base/result.ts";
import type { Price } from "./config.ts";

const amount = z.number({ error: "must be a number" }).min(0, "must not be negative").finite();

const PRICE_FILE = z.record(
  z.string(),
  z
    .strictObject({ input: amount, cached: amount.optional(), output: amount })
    .transform(
      (price): Price => ({ input: price.input, cached: price.cached ?? price.input, output: price.output }),
    ),
);

/** The error is a sentence that completes "PRICES names a file that …". Without `cached`, cached input costs as much as other input. */
export function readPrices(text: string): Result<Readonly<Record<string, Price>>, string> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    return err(`is not JSON: ${messageOf(error)}`);
  }
  const read = PRICE_FILE.safeParse(data);
  if (read.success) return ok(read.data);
  const wrong = read.error.issues.map(
    (issue) => `${issue.path.map(String).join(".") || "the file"}: ${issue.message}`,
  );
  return err(`has wrong prices: ${wrong.join("; ")}`);
}
