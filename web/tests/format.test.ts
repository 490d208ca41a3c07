import { describe, expect, it } from "vitest";

import { number, percent, plural, plusMinus, pValue, shown } from "../src/format";

describe("numbers as people read them", () => {
  it("has about three digits", () => {
    expect([123.4, 12.34, 1.234, 0.1234, 0.01234].map((one) => number(one))).toEqual(["123", "12.3", "1.23", "0.12", "0.012"]);
    expect(number(-0.5)).toBe("−0.50");
    expect(number(-0.0001, 2)).toBe("0.00");
    expect(number(NaN)).toBe("–");
  });

  it("never shows a share that is there as zero", () => {
    expect(percent(0.0004)).toBe("< 0.1 %");
    expect(percent(0)).toBe("0 %");
    expect(percent(0.79)).toBe("79 %");
    expect(percent(0.034)).toBe("3.4 %");
    expect(shown(0.349, { kind: "share" })).toBe("34.9 %");
    expect(shown(20, { kind: "times" })).toBe("20.0 ×");
  });

  it("never shows p as zero", () => {
    expect(pValue(0)).toBe("< 1e-15");
    expect(pValue(4.8e-6)).toBe("5e-6");
    expect(pValue(0.0421)).toBe("0.04");
  });

  it("never shows how many times as zero", () => {
    expect(shown(3e-7, { kind: "times" })).toBe("< 0.001 ×");
    expect(shown(0, { kind: "times" })).toBe("0.00 ×");
    expect(shown(14.5, { kind: "times" })).toBe("14.5 ×");
  });

  it("gives intervals as many digits as they need", () => {
    expect(plusMinus(0, 4e-5, "number")).toBe("± 0");
    expect(plusMinus(0.937, 0.943, "number")).toBe("± 0.003");
    expect(plusMinus(0.5, 0.52, "share")).toBe("± 1");
    expect(plusMinus(2, 6, "number")).toBe("± 2");
  });

  it("counts in words", () => {
    expect(plural(1, "head")).toBe("1 head");
    expect(plural(1200, "head")).toBe("1,200 heads");
  });
});
