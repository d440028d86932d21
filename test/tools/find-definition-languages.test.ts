import assert from "node:assert/strict";
import { test } from "node:test";
import type { Language } from "#src/tools/find-definition-grammars.ts";
import { findInFile } from "#src/tools/find-definition-parse.ts";

interface Case {
  readonly language: Language;
  /** Lines, numbered from 1 in `expected`. */
  readonly source: readonly string[];
  /** Name → `line kind qualifiers/rank`; uses of the name must not appear. */
  readonly expected: Readonly<Record<string, readonly string[]>>;
}

const CASES: readonly Case[] = [
  {
    language: "typescript",
    source: [
      'import { used } from "./x.ts";',
      "export default class Stack<T> extends Base {",
      "  static #size = 1;",
      "  @memo() get top(): T { return used(this.#size); }",
      "  push = (item: T) => { const local = item; return local; };",
      "  abstract pop(): T;",
      "}",
      "export function over(a: string): void;",
      "export async function* over(a: unknown) {}",
      "export const arrow = async (a: number) => a, limit = 1;",
      "namespace Outer { export enum Colour { Red, Green = 2 } }",
      "interface Shape { area(scale: number): number; name: string }",
      "type Alias = { inner: 1 };",
      "const table = { run() {}, stop: () => {}, ms: 5 };",
      "Stack.prototype.clear = function () {};",
      "export { arrow as renamed };",
    ],
    expected: {
      used: [],
      Stack: ["2 class /0"],
      size: ["3 field Stack/1"],
      top: ["4 method Stack/0"],
      push: ["5 method Stack/0"],
      local: ["5 local variable Stack/2"],
      pop: ["6 method Stack/1"],
      over: ["8 function /1", "9 function /0"],
      arrow: ["10 function /0"],
      limit: ["10 variable /0"],
      Outer: ["11 namespace /0"],
      Colour: ["11 enum Outer/0"],
      Red: ["11 member Outer.Colour/1"],
      Green: ["11 member Outer.Colour/1"],
      area: ["12 method Shape/1"],
      Alias: ["13 type /0"],
      inner: ["13 property Alias/1"],
      run: ["14 method table/0"],
      stop: ["14 method table/0"],
      ms: ["14 property table/2"],
      clear: ["15 function Stack/0"],
      renamed: [],
    },
  },
  {
    language: "tsx",
    source: [
      "export const Button = ({ label }: Props) => <button onClick={go}>{label}</button>;",
      "const go = 1;",
    ],
    expected: { Button: ["1 function /0"], go: ["2 variable /0"], label: [] },
  },
  {
    language: "javascript",
    source: [
      'const { taken } = require("x");',
      "class View { #draw() { return <View taken={taken} />; } size = 2; }",
      "exports.helper = (a) => a;",
      "module.exports.flag = true;",
      "let $el, later = class {};",
    ],
    expected: {
      taken: [],
      View: ["2 class /0"],
      draw: ["2 method View/0"],
      size: ["2 field View/1"],
      helper: ["3 function /0"],
      flag: ["4 attribute /2"],
      $el: ["5 variable /0"],
      later: ["5 class /0"],
    },
  },
  {
    language: "python",
    source: [
      "from x import taken",
      "class Tree(Base):",
      "    depth: int = 1",
      "    @property",
      "    async def leaf(self, taken=None):",
      "        self.seen = 1",
      "        def inner(): return self.seen",
      "LIMIT, other = 3, 4",
      "type Pair = tuple[int, int]",
      "short = lambda: 1",
    ],
    expected: {
      taken: [],
      Tree: ["2 class /0"],
      depth: ["3 attribute Tree/1"],
      leaf: ["5 method Tree/0"],
      seen: ["6 attribute Tree.leaf/2"],
      inner: ["7 function Tree.leaf/0"],
      LIMIT: ["8 variable /0"],
      other: ["8 variable /0"],
      Pair: ["9 type /0"],
      short: ["10 function /0"],
    },
  },
  {
    language: "go",
    source: [
      "package main",
      "type Stack[T any] struct { items []T }",
      "type Walker interface { Walk(a int) error }",
      "type Name = string",
      "func (s *Stack[T]) Push(x T) (int, error) { n := 1; return n, nil }",
      "func (Stack[T]) Len() int { return Free(1) }",
      "func Free[T any](x T) int { return 0 }",
      "const (",
      "\tFirst = iota",
      "\tSecond",
      ")",
      "var left, right = 1, 2",
    ],
    expected: {
      Stack: ["2 struct /0"],
      items: ["2 field Stack/1"],
      Walker: ["3 interface /0"],
      Walk: ["3 method Walker/1"],
      Name: ["4 type /0"],
      Push: ["5 method Stack/0"],
      n: ["5 local variable /2"],
      Len: ["6 method Stack/0"],
      Free: ["7 function /0"],
      Second: ["10 constant /0"],
      right: ["12 variable /0"],
    },
  },
  {
    language: "rust",
    source: [
      "#[derive(Debug)]",
      "pub struct Stack<T> { items: Vec<T> }",
      "enum Kind { Small, Big(u8) }",
      "trait Shape { type Unit; fn area(&self) -> u8; const SIDES: u8; }",
      "impl<T> Shape for Stack<T> { type Unit = u8; fn area(&self) -> u8 { make() } const SIDES: u8 = 1; }",
      "impl Stack<u8> { pub async fn make() -> Self { let local = 1; Kind::Small } }",
      "mod inner { pub fn deep() {} }",
      "macro_rules! twice { () => {} }",
      "static COUNT: u8 = 1;",
    ],
    expected: {
      Stack: ["2 struct /0"],
      items: ["2 field Stack/1"],
      Small: ["3 member Kind/1"],
      Big: ["3 member Kind/1"],
      Shape: ["4 trait /0"],
      area: ["4 method Shape/1", "5 method Stack(Shape)/0"],
      make: ["6 method Stack/0"],
      local: ["6 local variable Stack/2"],
      deep: ["7 function inner/0"],
      twice: ["8 macro /0"],
      COUNT: ["9 variable /0"],
    },
  },
  {
    language: "java",
    source: [
      "package a.b;",
      "public class Stack<T> extends Base {",
      "  private int size = 1, limit;",
      "  public Stack() { int local = size; }",
      "  @Override",
      "  public <U> U pop(int size) throws Empty { return other.pop(); }",
      "  enum Colour { RED(1), GREEN; }",
      "  interface Walker { void walk(); int STEPS = 1; }",
      "  record Pair(int a, int b) {}",
      "}",
    ],
    expected: {
      Stack: ["2 class /0", "4 constructor Stack/0"],
      size: ["3 field Stack/1"],
      limit: ["3 field Stack/1"],
      local: ["4 local variable Stack/2"],
      pop: ["6 method Stack/0"],
      RED: ["7 member Stack.Colour/1"],
      walk: ["8 method Stack.Walker/0"],
      STEPS: ["8 constant Stack.Walker/1"],
      Pair: ["9 record Stack/0"],
      Empty: [],
    },
  },
  {
    language: "c",
    source: [
      "#define MAX(a, b) 1",
      "#define LIMIT 10",
      "struct node { struct node *next; char *names[3]; };",
      "enum colour { RED, GREEN = 2 };",
      "typedef struct { int x; } point;",
      "typedef int (*callback)(int);",
      "static int *find(int key) { int local = LIMIT; return find(key); }",
      "int proto(struct node *of);",
      "extern int shared;",
      "int table[3], (*hook)(void) = 0;",
      "int old_style(class, new) int class; char new; { return class; }",
    ],
    expected: {
      MAX: ["1 macro /0"],
      LIMIT: ["2 macro /0"],
      node: ["3 struct /0"],
      next: ["3 field node/1"],
      names: ["3 field node/1"],
      GREEN: ["4 member colour/1"],
      point: ["5 type /0"],
      callback: ["6 type /0"],
      find: ["7 function /0"],
      local: ["7 local variable /2"],
      proto: ["8 declaration /1"],
      shared: ["9 declaration /1"],
      table: ["10 variable /0"],
      hook: ["10 variable /0"],
      old_style: ["11 function /0"],
    },
  },
  {
    language: "cpp",
    source: [
      "namespace geo { template <class T> class Box : Base { public: int area() const { return 1; } void grow(); int side; }; }",
      "void geo::Box::grow() {}",
      "using Alias = int;",
      "enum class Kind { Small };",
      "int &reference(int &a) { return a; }",
    ],
    expected: {
      geo: ["1 namespace /0"],
      Box: ["1 class geo/0"],
      area: ["1 method geo.Box/0"],
      grow: ["1 declaration geo.Box/1", "2 function geo.Box/0"],
      side: ["1 field geo.Box/1"],
      Alias: ["3 type /0"],
      Small: ["4 member Kind/1"],
      reference: ["5 function /0"],
    },
  },
  {
    language: "ruby",
    source: [
      "module Tools",
      "  class Box < Base",
      "    LIMIT = 1",
      "    attr_accessor :side, :depth",
      "    def grow(by); local = by; end",
      "    def self.make; end",
      "    def empty?; grow(1); end",
      "  end",
      "end",
    ],
    expected: {
      Tools: ["1 module /0"],
      Box: ["2 class Tools/0"],
      LIMIT: ["3 attribute Tools.Box/1"],
      depth: ["4 attribute Tools.Box/1"],
      grow: ["5 method Tools.Box/0"],
      local: ["5 local variable Tools.Box/2"],
      make: ["6 method Tools.Box/0"],
      "empty?": ["7 method Tools.Box/0"],
    },
  },
  {
    language: "php",
    source: [
      "<?php",
      "namespace App;",
      "const LIMIT = 1;",
      "function helper($a) { return new Box(); }",
      "interface Shape { function area(); }",
      "abstract class Box extends Base { const SIDES = 4; public $side = 1; public function grow(int $side): void {} }",
      "enum Kind { case Small; }",
    ],
    expected: {
      LIMIT: ["3 constant /0"],
      helper: ["4 function /0"],
      Shape: ["5 interface /0"],
      Box: ["6 class /0"],
      SIDES: ["6 constant Box/1"],
      side: ["6 field Box/1"],
      grow: ["6 method Box/0"],
      Small: ["7 member Kind/1"],
    },
  },
  {
    language: "csharp",
    source: [
      "namespace App {",
      "  public class Box : Base {",
      "    int side = 1; public int Depth { get; set; } public Box() {}",
      "    public T Grow<T>(int side) { var local = Depth; return Grow<T>(local); }",
      "    delegate void Changed(int x);",
      "  }",
      "  record Pair(int A); enum Kind { Small } interface IShape { void Area(); }",
      "}",
    ],
    expected: {
      Box: ["2 class App/0", "3 constructor App.Box/0"],
      side: ["3 field App.Box/1"],
      Depth: ["3 property App.Box/1"],
      Grow: ["4 method App.Box/0"],
      local: ["4 local variable App.Box/2"],
      Changed: ["5 delegate App.Box/0"],
      Pair: ["7 record App/0"],
      Small: ["7 member App.Kind/1"],
      Area: ["7 method App.IShape/0"],
    },
  },
];

for (const { language, source, expected } of CASES)
  test(`${language}: definitions are told from uses, with kind and place`, async () => {
    for (const [name, wanted] of Object.entries(expected)) {
      const found = await findInFile(language, name, source.join("\n"));
      const shown = found.map(({ row, kind, inside, also, rank }) => {
        const place = inside.join(".") + (also.length > 0 ? `(${also.join()})` : "");
        return `${row + 1} ${kind} ${place}/${rank}`;
      });
      assert.deepEqual(shown, wanted, name);
    }
  });

test("broken code still gives the definitions around the break", async () => {
  const found = await findInFile("python", "after", "def before(:\n    x = (\ndef after(a):\n    pass\n");
  assert.deepEqual(
    found.map(({ row, kind }) => [row, kind]),
    [[2, "function"]],
  );
});
