/** What a reader of one report format hands on: cases as the report has them, before they get ids. */

import type { TestCase } from "../verify.ts";

/** What a report says of a test's place where it does not name the file; `places.ts` finds the file for it. */
export type PlaceHint =
  /** The end of a path, below a directory that the runner was given. */
  | { readonly kind: "path"; readonly end: string }
  | { readonly kind: "class"; readonly name: string }
  | { readonly kind: "go"; readonly pack: string; readonly test: string }
  | {
      readonly kind: "rust";
      readonly directory: string;
      readonly crate: string;
      readonly names: readonly string[];
    };

/** One case as its report has it. */
export interface RawCase {
  /** Absolute path or file URL inside the sandbox, or relative to the workspace; empty when unknown. */
  readonly file: string;
  /** Empty: the file as a whole, e.g. when it could not be loaded. */
  readonly names: readonly string[];
  readonly outcome: TestCase["outcome"];
  readonly message: string;
  /** Looked at when `file` is empty. */
  readonly hint?: PlaceHint;
  readonly fromText?: true;
}

export interface ParsedReport {
  readonly cases: readonly RawCase[];
  /** False: the runner stopped before it had written everything. */
  readonly complete: boolean;
}
