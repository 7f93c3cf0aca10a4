/**
 * Which changed files can change what a check proves, by the names that common tools use.
 */
import { expect, it } from "vitest";
import { watchedIn } from "../../../src/task/verify/watching.ts";

const WATCHED = {
  check: ["holdfast.yaml"],
  test: [
    ...["test/a.js", "src/__tests__/a.js", "a_test.go", "a.spec.ts", "conftest.py", "test_a.py"],
    ...["src/test/java/FooTest.java", "src/FooTests.cs", "Foo.Tests/Helper.cs", "FooTests/Helper.swift"],
  ],
  script: ["package.json", "Makefile", "CMakeLists.txt", "lib/CMakeLists.txt", "Dockerfile", "Dockerfile.ci"],
  config: [
    ...["karma.conf.js", "vite.config.ts", "phpunit.xml", "phpunit.xml.dist", "tsconfig.json", ".npmrc"],
    ...[".travis.yml", ".drone.yml", "bitbucket-pipelines.yml", ".woodpecker/a.yml", ".forgejo/a.yml"],
    ...["deploy/Jenkinsfile", ".github/workflows/ci.yml"],
  ],
};

it.each(Object.entries(WATCHED))("watches files of the kind %s", (why, paths) => {
  expect(watchedIn(paths)).toEqual(paths.map((path) => ({ path, why })));
});

it("watches files in the place of what set-up installs", () => {
  const paths = ["node_modules", "node_modules/.bin/jest", "web/node_modules/x/index.js", ".venv/bin/pytest"];
  expect(watchedIn(paths)).toEqual(paths.map((path) => ({ path, why: "script" })));
});

it("watches task runners, and no other files", () => {
  expect(watchedIn(["turbo.json", "deno.json", "deno.jsonc"]).map(({ why }) => why)).toEqual(
    Array(3).fill("script"),
  );
  expect(watchedIn(["src/Latest.java", "src/contest/a.js", "attest.go", "src/a.conf"])).toEqual([]);
});
