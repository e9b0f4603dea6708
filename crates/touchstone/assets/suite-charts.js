// The charts of a whole suite: its claims beside what was published, and growth with the number of tables, records and the like.

"use strict";

const suiteCharts = (() => {
  const { INK, tone, ratio, count, widest, fitting, style, ticks, logDomain, grid, axisX, lineChart } = parts;

  /** Each claim's figure here beside the published one, over the range in which it holds. */
  function claims({ rows }, available) {
    const strip = 46;
    const statuses =
      widest(
        rows.map((row) => row.status),
        { bold: true },
      ) + 30;
    const marginRight = statuses + widest(rows.map((row) => row.figure)) + 8;
    const width = fitting(available, {
      marginLeft: widest(rows.map((row) => row.statement)) - 260,
      marginRight,
    });
    const known = rows.flatMap((row) => [
      row.low,
      row.value,
      row.high,
      row.published,
      row.at_least,
      row.at_most,
    ]);
    const domain = logDomain([...known.filter((value) => value !== null), 1], 0.05);
    const at = ticks(domain, Math.floor((width - marginRight) / 60));
    const placed = rows.map((row, index) => ({
      ...row,
      y: index * strip + 31,
      top: index * strip + 22,
      bottom: index * strip + 40,
      from: row.at_least ?? domain[0],
      to: row.at_most ?? domain[1],
    }));
    const gridded = placed.flatMap(({ top, bottom }) => at.map((x) => ({ x, top, bottom })));
    const colour = (row) => tone(row.status);
    const column = (text, dx, options) =>
      Plot.text(placed, { y: "y", text, frameAnchor: "right", textAnchor: "start", dx, ...options });
    return Plot.plot({
      width,
      height: rows.length * strip + 58,
      marginLeft: 6,
      marginRight,
      marginTop: 2,
      marginBottom: 46,
      style: style(),
      x: { type: "log", domain },
      y: { type: "linear", domain: [0, rows.length * strip + 4], reverse: true, axis: null },
      marks: [
        Plot.rect(placed, { x1: "from", x2: "to", y1: "top", y2: "bottom", fill: "var(--band)" }),
        Plot.ruleX(gridded, { x: "x", y1: "top", y2: "bottom", ...grid }),
        Plot.ruleX(placed, { x: 1, y1: "top", y2: "bottom", stroke: INK }),
        axisX(at, ratio, "ratio"),
        Plot.ruleY(placed, { y: "y", x1: "low", x2: "high", stroke: colour, strokeWidth: 2 }),
        Plot.dot(
          placed.filter((row) => row.published > 0),
          {
            x: "published",
            y: "y",
            symbol: "diamond",
            r: 5.5,
            stroke: INK,
            fill: "var(--paper)",
            strokeWidth: 1.5,
          },
        ),
        Plot.dot(placed, { x: "value", y: "y", r: 4, fill: colour }),
        Plot.text(placed, {
          frameAnchor: "left",
          y: (row) => row.top - 10,
          text: "statement",
          textAnchor: "start",
          fill: INK,
        }),
        column("status", 16, { fill: colour, fontWeight: 600 }),
        column("figure", statuses, { fill: INK }),
      ],
    });
  }

  /** Time against how many of something there are, both logarithmic. */
  function growth({ baseline, known, arms }, options) {
    const lines = arms.map(({ arm, points }) => ({
      arm,
      points: points.map((point) => ({ x: point.at, y: point.ns })),
      dots: points.flatMap((point) => point.launches.map((ns) => ({ x: point.at, y: ns }))),
      curve: "linear",
    }));
    const ticksX = d3.sort(new Set(lines.flatMap((line) => line.points.map((point) => point.x))));
    return lineChart({ lines, baseline, known, domainX: d3.extent(ticksX), ticksX, sayX: count, ...options });
  }

  const scaling = (data, width) =>
    growth(data, { width, labelX: "tables in the database", labelY: "time to open" });

  /** Small, one beside the other; a decade high at least, so that little growth looks little. */
  const scales = (data, width) =>
    growth(data, {
      width,
      labelX: data.counted,
      labelY: data.counted === "records" ? "time of one record" : "time of one transaction",
      least: 240,
      between: 190,
      span: 10,
    });

  return { claims, scaling, scales };
})();
