/**
 * What a task gets from the user without asking for it: variables, and the directories of PATH.
 */
import { describe, expect, it } from "vitest";
import { baseEnvironment } from "../../src/process/index.ts";
import { UserHome } from "../support/user-home.ts";

describe("a task", () => {
  it("gets the user's language variables, but no other variable that begins with LC_", () => {
    const before = { ...process.env };
    Object.assign(process.env, { LC_TIME: "C", LC_TOKEN: "PLANTED", LC_: "PLANTED" });
    try {
      const passed = baseEnvironment({});
      expect(passed).toMatchObject({ LC_TIME: "C" });
      expect(Object.values(passed)).not.toContain("PLANTED");
    } finally {
      process.env = before;
    }
  });

  it("view-2 sees no files of the user through links in the checkout, even on PATH or in settings", () => {
    using user = new UserHome();
    user.file("papers/clients/list.txt", "PLANTED");
    user.file("tools/bin/tool");
    user.file("checkout/bin/own");
    user.link("checkout/bin/tool", "../../papers/clients/list.txt");
    user.link("checkout/linked", "../papers/clients");
    user.link("elsewhere/tool", user.file("papers/clients/run"));
    const checkout = user.at("checkout");
    const env = { JAVA_HOME: user.at("checkout/linked") };
    const shown = (more: object) =>
      user.tools(["checkout/bin", "checkout/linked"], { checkout, env, ...more }).read;
    expect(shown({})).toEqual([]);
    expect(shown({ read: [user.at("checkout/linked")] })).toEqual([]);
    // Control: the same places are shown when the links are in no checkout.
    expect(user.tools(["elsewhere"], { checkout }).read).toContain(user.at("papers/clients"));
    expect(shown({ checkout: undefined })).toContain(user.at("papers/clients"));
  });
});
