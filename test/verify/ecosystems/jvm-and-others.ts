/** Further projects: the JVM by a plain javac runner, Ruby, PHP and Elixir. */

import type { Row } from "./rows.ts";

const RUNNER = `import java.io.*; import java.lang.reflect.*; import java.nio.file.*; import java.util.*;
public class Runner {
  public static void main(String[] names) throws Exception {
    StringBuilder xml = new StringBuilder("<testsuites>");
    boolean failed = false;
    for (String name : names) {
      Class<?> owner = Class.forName(name);
      xml.append("<testsuite name=\\"" + name + "\\">");
      for (Method method : owner.getDeclaredMethods()) {
        if (!Modifier.isPublic(method.getModifiers())) continue;
        xml.append("<testcase classname=\\"" + name + "\\" name=\\"" + method.getName() + "\\">");
        try { method.invoke(owner.getDeclaredConstructor().newInstance()); }
        catch (InvocationTargetException e) { failed = true; xml.append("<failure message=\\"" + e.getCause().getMessage() + "\\"/>"); }
        xml.append("</testcase>");
      }
      xml.append("</testsuite>");
    }
    Path place = Paths.get("build/test-results/TEST-all.xml");
    Files.createDirectories(place.getParent());
    Files.write(place, xml.append("</testsuites>").toString().getBytes());
    System.exit(failed ? 1 : 0);
  }
}
`;

export const FURTHER: readonly Row[] = [
  {
    name: "a plain javac runner that writes JUnit XML into the workspace",
    needs: ["javac", "java"],
    runner: "make",
    command: "make test",
    files: {
      Makefile:
        ".PHONY: test\ntest:\n\tmkdir -p build/classes\n\tjavac -d build/classes $$(find src test -name '*.java')\n\tjava -cp build/classes Runner shop.AreaTest\n",
      "src/shop/Area.java":
        "package shop; public class Area { public static int perimeter(int a, int b) { return a + b; } }\n",
      "test/Runner.java": RUNNER,
      "test/shop/AreaTest.java":
        'package shop; public class AreaTest { public void zero() { if (Area.perimeter(0, 0) != 0) throw new AssertionError("no"); } public void ofTwoByThree() { int got = Area.perimeter(2, 3); if (got != 10) throw new AssertionError("got " + got + ", want 10"); } }\n',
      "build/test-results/TEST-old.xml":
        '<testsuite><testcase classname="old.Old" name="stale"/></testsuite>\n',
    },
    expected: { "test/shop/AreaTest.java > zero": "pass", "test/shop/AreaTest.java > ofTwoByThree": "fail" },
    strength: "report",
    message: /got 5, want 10/,
  },
  {
    name: "rspec",
    needs: ["rspec"],
    runner: "rspec",
    command: "rspec",
    files: {
      "lib/area.rb": "def perimeter(a, b) = a + b\n",
      "spec/area_spec.rb":
        'require_relative "../lib/area"\nRSpec.describe "area" do\n  it("of nothing") { expect(perimeter(0, 0)).to eq 0 }\n  context "2x3" do\n    it("has a perimeter") { expect(perimeter(2, 3)).to eq 10 }\n    xit("later") { }\n  end\nend\n',
    },
    expected: {
      "spec/area_spec.rb > area > of nothing": "pass",
      "spec/area_spec.rb > area > 2x3 > has a perimeter": "fail",
      "spec/area_spec.rb > area > 2x3 > later": "skip",
    },
    strength: "report",
    message: /expected: 10[\s\S]*got: 5/,
  },
  {
    name: "rspec with a file that cannot be loaded",
    needs: ["rspec"],
    runner: "rspec",
    command: "rspec",
    files: { "spec/area_spec.rb": 'require_relative "../lib/none"\nRSpec.describe("x") { it("y") { } }\n' },
    expected: { "spec/area_spec.rb": "fail" },
    strength: "report",
    message: /cannot load such file/,
  },
  {
    name: "minitest through rake",
    needs: ["ruby", "rake"],
    runner: "minitest",
    command: "rake test",
    files: {
      Rakefile: 'require "rake/testtask"\nRake::TestTask.new { |t| t.pattern = "test/**/*_test.rb" }\n',
      "test/area_test.rb":
        'require "minitest/autorun"\nclass AreaTest < Minitest::Test\n  def test_zero = assert_equal(0, 0)\n  def test_perimeter = assert_equal(10, 5)\n  def test_later = skip\nend\n',
    },
    expected: {
      "test/area_test.rb > AreaTest > test_zero": "pass",
      "test/area_test.rb > AreaTest > test_perimeter": "fail",
      "test/area_test.rb > AreaTest > test_later": "skip",
    },
    strength: "report",
    message: /Expected: 10[\s\S]*Actual: 5/,
  },
  {
    name: "phpunit",
    needs: ["phpunit", "php"],
    runner: "phpunit",
    command: "phpunit tests",
    files: {
      "tests/AreaTest.php":
        '<?php\nuse PHPUnit\\Framework\\TestCase;\nfinal class AreaTest extends TestCase {\n  public function testZero(): void { $this->assertSame(0, 0); }\n  /** @dataProvider sides */\n  public function testPerimeter(int $a): void { $this->assertSame(10, $a); }\n  public static function sides(): array { return [[10], [5]]; }\n  public function testLater(): void { $this->markTestSkipped("no case yet"); }\n}\n',
    },
    expected: {
      "tests/AreaTest.php > AreaTest > testZero": "pass",
      "tests/AreaTest.php > AreaTest > testPerimeter with data set #0": "pass",
      "tests/AreaTest.php > AreaTest > testPerimeter with data set #1": "fail",
      "tests/AreaTest.php > AreaTest > testLater": "skip",
    },
    strength: "report",
    message: /5 is identical to 10/,
  },
  {
    name: "mix test, by its printed lines",
    needs: ["mix"],
    runner: "mix",
    command: "mix test",
    files: {
      "mix.exs":
        'defmodule Area.MixProject do\n  use Mix.Project\n  def project, do: [app: :area, version: "0.1.0", deps: []]\nend\n',
      "lib/area.ex": "defmodule Area do\n  def perimeter(a, b), do: a + b\nend\n",
      "test/test_helper.exs": "ExUnit.start()\n",
      "test/area_test.exs":
        'defmodule AreaTest do\n  use ExUnit.Case\n  test "zero" do\n    assert Area.perimeter(0, 0) == 0\n  end\n  test "perimeter of 2x3" do\n    assert Area.perimeter(2, 3) == 10\n  end\n  @tag :skip\n  test "later" do\n  end\nend\n',
    },
    expected: {
      "test/area_test.exs > AreaTest > zero": "pass",
      "test/area_test.exs > AreaTest > perimeter of 2x3": "fail",
      "test/area_test.exs > AreaTest > later": "skip",
    },
    strength: "text",
    message: /left: {2}5/,
  },
];
