// The charts of a whole suite: its claims beside what was published, and growth with the number of tables, records and
// the like.

"use strict";

const suiteCharts = (() => {
  const { INK, tone, ratio, count, perSecond, widest, fitting, style, ticks, logDomain, grid, axisX, lineChart } =
    parts;

  const STATEMENT_PX = 22;
  const STRIP_PX = 18;
  const OTHER_PX = 13;
  const GAP_PX = 6;
  const MARGIN_PX = 6;
  const BEST = "best possible";

  /** Each claim's figures here beside the published ones, over the ranges in which it holds. */
  function claims({ rows }, available) {
    const pairs = rows.flatMap((row) => row.pairs);
    const outcomes =
      widest(
        pairs.map((pair) => pair.outcome),
        { bold: true },
      ) + 30;
    const marginRight = outcomes + widest(pairs.map((pair) => pair.figure)) + 8;
    // A statement stands above its strip, and may reach over the columns beside that.
    const statements = widest(rows.map((row) => row.statement)) + 2 * MARGIN_PX;
    const width = Math.max(fitting(available, { marginLeft: MARGIN_PX, marginRight }), statements);
    const domain = logDomain([...rows.flatMap(figures), 1], 0.05);
    const at = ticks(domain, Math.floor((width - marginRight) / 60));
    const placed = place(rows, domain);
    const bottom = d3.max(placed, (row) => row.bottom) + GAP_PX;
    const gridded = placed.flatMap(({ top, bottom }) => at.map((x) => ({ x, top, bottom })));
    const first = placed.map((row) => row.pairs[0]);
    const others = placed.flatMap((row) => row.pairs.slice(1));
    const column = (pairs, text, dx, options) =>
      Plot.text(pairs, { y: "y", text, frameAnchor: "right", textAnchor: "start", dx, fill: INK, ...options });
    return Plot.plot({
      width,
      height: bottom + 48,
      marginLeft: MARGIN_PX,
      marginRight,
      marginTop: 2,
      marginBottom: 46,
      style: style(),
      x: { type: "log", domain },
      y: { type: "linear", domain: [0, bottom], reverse: true, axis: null },
      marks: [
        band(placed, "direction", "var(--band)"),
        band(placed, "size", "var(--band-size)"),
        Plot.ruleX(gridded, { x: "x", y1: "top", y2: "bottom", ...grid }),
        Plot.ruleX(placed, { x: 1, y1: "top", y2: "bottom", stroke: INK }),
        axisX(at, ratio, "ratio"),
        diamonds(
          placed.flatMap((row) => row.beside.map((x) => ({ x, y: row.y }))),
          3,
        ),
        diamonds(
          placed.filter((row) => row.published).map((row) => ({ x: row.published, y: row.y })),
          5.5,
        ),
        found(others, 1.2, 2.5, 0.75),
        found(first, 2, 4, 1),
        Plot.text(placed, {
          frameAnchor: "left",
          y: (row) => row.top - 10,
          text: "statement",
          textAnchor: "start",
          fill: INK,
        }),
        column(first, "outcome", 16, { fill: (pair) => tone(pair.status), fontWeight: 600 }),
        column(first, "figure", outcomes),
        column(others, "outcome", 16, { fill: (pair) => tone(pair.status), fontSize: 10.5 }),
        column(others, "figure", outcomes, { fontSize: 10.5 }),
      ],
    });
  }

  /** Everything that must lie within the chart. */
  function figures({ pairs, published, beside, direction, size }) {
    const found = pairs.flatMap(({ low, value, high }) => [low, value, high]);
    const bounds = [direction, size].flatMap((range) => [range?.at_least, range?.at_most]);
    return [...found, published, ...beside, ...bounds].filter((value) => value != null);
  }

  /** A strip for each claim beneath its statement, and beneath its middle a line for each other pair. */
  function place(rows, domain) {
    let next = 0;
    return rows.map((row) => {
      const top = next + STATEMENT_PX;
      const bottom = top + STRIP_PX + OTHER_PX * (row.pairs.length - 1);
      next = bottom + GAP_PX;
      const y = top + STRIP_PX / 2;
      const of = (pair, index) => ({ ...pair, y: index === 0 ? y : top + STRIP_PX + OTHER_PX * (index - 0.5) });
      const whole = ends(row.direction, domain) ?? domain;
      const size = ends(row.size, domain);
      const within = size && [Math.max(size[0], whole[0]), Math.min(size[1], whole[1])];
      return { ...row, top, bottom, y, direction: whole, size: within, pairs: row.pairs.map(of) };
    });
  }

  const ends = (range, [least, most]) => range && [range.at_least ?? least, range.at_most ?? most];

  const band = (placed, range, fill) =>
    Plot.rect(
      placed.filter((row) => row[range]),
      { x1: (row) => row[range][0], x2: (row) => row[range][1], y1: "top", y2: "bottom", fill },
    );

  /** Dots with their intervals. */
  function found(pairs, strokeWidth, r, opacity) {
    const colour = (pair) => tone(pair.status);
    return [
      Plot.ruleY(pairs, { y: "y", x1: "low", x2: "high", stroke: colour, strokeWidth, opacity }),
      Plot.dot(pairs, { x: "value", y: "y", r, fill: colour, opacity }),
    ];
  }

  const diamonds = (figures, r) =>
    Plot.dot(figures, {
      x: "x",
      y: "y",
      symbol: "diamond",
      r,
      stroke: INK,
      fill: "var(--paper)",
      strokeWidth: r > 4 ? 1.5 : 1,
    });

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

  /** Hits or rates against how many of something there are; dashed, the best that is possible, and how many cores there are. */
  function curve({ shows, along, baseline, known, arms, best, cores }, width) {
    const lines = arms.map(({ arm, points }) => ({
      arm,
      points: points.map(({ at, value }) => ({ x: at, y: value })),
      dots: points.flatMap(({ at, launches }) => launches.map((value) => ({ x: at, y: value }))),
      curve: "linear",
    }));
    if (best.length > 1) {
      const points = best.map(([x, y]) => ({ x, y }));
      lines.push({ arm: BEST, points, curve: "linear", look: { colour: "var(--muted)", dash: "6 4" } });
    }
    const ticksX = d3.sort(new Set(lines.flatMap((line) => line.points.map((point) => point.x))));
    const domainX = d3.extent(ticksX);
    const is_marked = cores !== null && cores >= domainX[0] && cores <= domainX[1];
    const mark = is_marked ? [Plot.ruleX([cores], { stroke: INK, strokeDasharray: "3 3" })] : [];
    const most = d3.max(lines, (line) => d3.max(line.points, (point) => point.y));
    const of_hits = {
      sayY: (share) => `${share} %`,
      labelY: "gets that found their page",
      linearY: [0, Math.max(1, most)],
    };
    const of_rate = { sayY: perSecond, labelY: "operations a second" };
    return lineChart({
      lines,
      baseline,
      known,
      width,
      domainX,
      labelX: along,
      ticksX,
      sayX: count,
      beneath: mark,
      ...(shows === "hits" ? of_hits : of_rate),
    });
  }

  return { claims, scaling, scales, curve };
})();
