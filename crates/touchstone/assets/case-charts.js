// The charts of one case: one function for each kind, from the data in the page to an SVG element.
//
// Nothing is computed that the tables do not say; labels come worded from the lab. Drawn with Observable Plot on
// D3.

"use strict";

const caseCharts = (() => {
  const {
    INK,
    tone,
    duration,
    ratio,
    count,
    perSecond,
    widest,
    fitting,
    style,
    name,
    ticks,
    logDomain,
    grid,
    axisX,
    axisY,
    lineChart,
  } = parts;

  const nameMargin = (arms) => widest(arms, { mono: true }) + 16;

  /** The frame of a chart with a row for each contender, their names at the left and something at the right. */
  function rowFrame(arms, marginRight, available, { height = 25 * arms.length + 58, marginTop = 8 } = {}) {
    const margins = { marginLeft: nameMargin(arms), marginRight };
    const width = fitting(available, margins);
    return { width, height, ...margins, marginTop, marginBottom: 46, style: style() };
  }

  /** How many ticks there is room for, so many pixels apart. */
  const room = ({ width, marginLeft, marginRight }, apart) => Math.floor((width - marginLeft - marginRight) / apart);

  const rowNames = (rows, options = { y: "arm", text: "arm" }) =>
    Plot.text(rows, name({ frameAnchor: "left", textAnchor: "end", dx: -12, ...options }));

  /** A text of each row at the right. */
  const column = (rows, text, dx = 16, fill = INK) =>
    Plot.text(rows, { y: "arm", text, frameAnchor: "right", textAnchor: "start", dx, fill });

  /** The frame of a chart with a strip of its own for each contender. */
  const stripFrame = (arms, width, { each, padding, marginRight }) => ({
    width,
    height: arms.length * each + 62,
    marginLeft: 62,
    marginRight,
    marginTop: 16,
    marginBottom: 46,
    style: style(),
    fy: { domain: arms.map(({ arm }) => arm), axis: null, padding },
  });

  /** Above each strip its contender's name, and how long its longest operation took. */
  function stripNames(arms, longest) {
    const above = { fy: "arm", dy: -14 };
    return [
      Plot.text(longest, { ...above, frameAnchor: "top-right", text: "longest", fill: INK }),
      Plot.text(arms, name({ ...above, frameAnchor: "top-left", text: "arm" })),
    ];
  }

  /**
   * Each contender's ratio to the baseline with its interval, the margin as a band; figures as columns at
   * the right.
   */
  function forest({ baseline, margin, rows }, available) {
    const said = rows.map((row) => ({
      ...row,
      said: row.other_class ? `${row.word} (${row.other_class})` : row.word,
    }));
    const figures = widest(rows.map((row) => row.figure)) + 30;
    const arms = rows.map((row) => row.arm);
    const frame = rowFrame(arms, figures + widest(said.map((row) => row.said)) + 8, available);
    const domain = logDomain([
      ...rows.flatMap((row) => [row.low, row.value, row.high]),
      1 / (1 + margin),
      1 + margin,
    ]);
    const drawn = said.filter((row) => row.value !== null);
    const colour = (row) => tone(row.word);
    const at = ticks(domain, room(frame, 50));
    return Plot.plot({
      ...frame,
      x: { type: "log", domain },
      y: { type: "point", domain: arms, padding: 0.6, axis: null },
      marks: [
        Plot.rect([margin], { x1: 1 / (1 + margin), x2: 1 + margin, fill: "var(--band)" }),
        Plot.gridX(at, grid),
        Plot.ruleX([1], { stroke: INK }),
        axisX(at, ratio, "rate over the baseline's, further right is better"),
        Plot.ruleY(drawn, { y: "arm", x1: "low", x2: "high", stroke: colour, strokeWidth: 2 }),
        Plot.dot(drawn, {
          y: "arm",
          x: "value",
          r: 4,
          stroke: colour,
          strokeWidth: 2,
          fill: (row) => (row.other_class ? "var(--paper)" : colour(row)),
        }),
        Plot.dot(
          said.filter((row) => row.arm === baseline),
          { y: "arm", x: 1, symbol: "diamond", r: 5, fill: INK },
        ),
        rowNames(said),
        column(said, "figure"),
        column(said, "said", figures, colour),
      ],
    });
  }

  /** Each contender's share of gets that found their page; a stroke where the best possible lies. */
  function hits({ rows }, available) {
    const arms = rows.map((row) => row.arm);
    const frame = rowFrame(arms, widest(rows.map((row) => row.figure)) + 24, available);
    const domain = [0, Math.max(1, ...rows.flatMap((row) => [row.hits, row.best]))];
    const at = d3.ticks(...domain, Math.max(2, room(frame, 75)));
    return Plot.plot({
      ...frame,
      x: { domain },
      y: { type: "band", domain: arms, padding: 0.3, axis: null },
      marks: [
        Plot.gridX(at, grid),
        axisX(at, (share) => `${share} %`, "gets that found their page in the pool"),
        Plot.ruleY(rows, { y: "arm", x1: 0, x2: "hits", stroke: "var(--series-1)", strokeWidth: 2 }),
        Plot.dot(rows, { y: "arm", x: "hits", r: 4, fill: "var(--series-1)" }),
        Plot.tickX(rows, { y: "arm", x: "best", stroke: INK, strokeWidth: 2 }),
        rowNames(rows),
        column(rows, "figure"),
      ],
    });
  }

  /** What each contender does in a second, beside what the machine could do at best. */
  function limits({ rows, lines }, available) {
    const arms = rows.map((row) => row.arm);
    const frame = rowFrame(arms, widest(rows.map((row) => row.figure)) + 24, available, {
      height: 25 * rows.length + 76,
      marginTop: 26,
    });
    const values = rows.flatMap((row) => [row.per_second, ...row.launches]);
    const domain = logDomain([...values, ...lines.map((line) => line.per_second)], 0.04);
    const at = ticks(domain, room(frame, 70));
    const dots = rows.flatMap((row) => row.launches.map((per_second) => ({ arm: row.arm, per_second })));
    // A name stands on the side of its line that has room for it.
    const middle = Math.sqrt(domain[0] * domain[1]);
    const names = (right) =>
      Plot.text(
        lines.filter((line) => line.per_second > middle === right),
        {
          x: "per_second",
          text: "name",
          frameAnchor: "top",
          textAnchor: right ? "end" : "start",
          dx: right ? -5 : 5,
          dy: -14,
          fill: INK,
        },
      );
    return Plot.plot({
      ...frame,
      x: { type: "log", domain },
      y: { type: "band", domain: arms, padding: 0.3, axis: null },
      marks: [
        Plot.gridX(at, grid),
        axisX(at, perSecond, "pages a second, further right is better"),
        Plot.ruleX(lines, { x: "per_second", stroke: INK, strokeWidth: 1.5, strokeDasharray: "6 4", insetTop: -16 }),
        names(true),
        names(false),
        Plot.dot(dots, { y: "arm", x: "per_second", r: 2, fill: "var(--series-1)", fillOpacity: 0.6 }),
        Plot.dot(rows, { y: "arm", x: "per_second", r: 4, fill: "var(--series-1)" }),
        rowNames(rows),
        column(rows, "figure"),
      ],
    });
  }

  /**
   * A strip for each contender with a dot for each launch, from the first at the top to the last at the
   * bottom.
   */
  function launches({ time, arms, points, medians, kinds }, available) {
    const strip = 30;
    const last = d3.max(points, ([, launch]) => launch) || 1;
    const place = (arm, launch) => arm * strip + 5 + (launch / last) * (strip - 10);
    const dots = points.map(([arm, launch, ns]) => ({
      x: ns,
      y: place(arm, launch),
      arm: arms[arm],
      launch,
    }));
    const strokes = medians.flatMap((ns, arm) =>
      ns === null ? [] : [{ x: ns, y1: arm * strip + 2, y2: (arm + 1) * strip - 2 }],
    );
    const groups = kinds.flatMap((pair, arm) =>
      (pair ?? []).map((ns) => ({ x: ns, y1: arm * strip + 2, y2: (arm + 1) * strip - 2 })),
    );
    const frame = rowFrame(arms, 16, available, { height: arms.length * strip + 56 });
    const domain = logDomain(
      dots.map((dot) => dot.x),
      0.04,
    );
    const at = ticks(domain, room(frame, 75));
    return Plot.plot({
      ...frame,
      x: { type: "log", domain },
      y: { type: "linear", domain: [0, arms.length * strip], reverse: true, axis: null },
      marks: [
        Plot.gridX(at, grid),
        axisX(at, duration, `${time}, further left is better`),
        Plot.ruleY(
          d3.range(arms.length + 1).map((arm) => arm * strip),
          { stroke: "var(--rule)" },
        ),
        Plot.ruleX(strokes, { x: "x", y1: "y1", y2: "y2", stroke: INK, strokeWidth: 1.5 }),
        Plot.ruleX(groups, {
          x: "x",
          y1: "y1",
          y2: "y2",
          stroke: "var(--worse)",
          strokeWidth: 2,
          strokeDasharray: "3 2",
        }),
        Plot.dot(dots, {
          x: "x",
          y: "y",
          r: 2.5,
          fill: "var(--series-1)",
          fillOpacity: 0.8,
          title: (dot) => `${dot.arm}, launch ${dot.launch + 1}: ${duration(dot.x)}`,
        }),
        rowNames(arms, { y: (_, arm) => (arm + 0.5) * strip, text: (arm) => arm }),
      ],
    });
  }

  /** Latency against the share of operations that take longer, both logarithmic. */
  function latency({ time, baseline, arms }, width) {
    const most = d3.max(arms, (arm) => arm.operations);
    const oneIn = (percentile, operations) => (percentile >= 100 ? operations : 1 / (1 - percentile / 100));
    const lines = arms.map(({ arm, operations, curve }) => ({
      arm,
      points: curve
        .map(([percentile, ns]) => ({ x: oneIn(percentile, operations), y: ns }))
        .filter((p) => p.x <= operations),
      curve: "monotone-x",
    }));
    const tens = d3.range(1, Math.floor(Math.log10(most)) + 1).map((power) => 10 ** power);
    return lineChart({
      lines,
      baseline,
      width,
      domainX: [1, most],
      labelX: "percentile",
      labelY: time,
      ticksX: [2, ...tens],
      sayX: (one_in) => `p${Number((100 * (1 - 1 / one_in)).toPrecision(10))}`,
    });
  }

  /** A strip for each contender: its operations in order, each stretch by its slowest. */
  function stalls({ arms }, width) {
    const points = arms.flatMap(({ arm, points }) =>
      points.map(([operation, ns]) => ({ arm, operation, ns })),
    );
    const domain = logDomain(
      points.map((point) => point.ns),
      0.1,
    );
    const longest = arms.map(({ arm, points, longest }) => {
      const [operation, ns] = d3.greatest(points, (a, b) => a[1] - b[1]);
      return { arm, operation, ns, longest };
    });
    const at = ticks(domain, 4);
    return Plot.plot({
      ...stripFrame(arms, width, { each: 78, padding: 0.32, marginRight: 12 }),
      x: { domain: [0, d3.max(points, (point) => point.operation)] },
      y: { type: "log", domain },
      marks: [
        Plot.gridY(at, grid),
        axisY(at, duration),
        axisX(
          d3.ticks(
            0,
            d3.max(points, (point) => point.operation),
            8,
          ),
          count,
          "operations, in the order they were made",
        ),
        Plot.ruleX(points, {
          fy: "arm",
          x: "operation",
          y1: domain[0],
          y2: "ns",
          stroke: "var(--series-1)",
          strokeWidth: 1.2,
        }),
        Plot.ruleY([domain[0]], { stroke: INK }),
        Plot.dot(longest, {
          fy: "arm",
          x: "operation",
          y: "ns",
          r: 3.5,
          stroke: INK,
          fill: "var(--paper)",
          strokeWidth: 1.5,
        }),
        stripNames(arms, longest),
      ],
    });
  }

  /** Transactions a second over the time of a launch. The scale has no place for none: that is drawn below the least. */
  function pace({ baseline, arms }, width) {
    const least = d3.min(arms.flatMap(({ points }) => points.map(([, y]) => y || Infinity))) / 2;
    const lines = arms.map(({ arm, points }) => ({ arm, points: points.map(([x, y]) => ({ x, y: y || least })) }));
    const all = lines.flatMap((line) => line.points);
    return lineChart({
      lines,
      baseline,
      width,
      typeX: "linear",
      domainX: [0, d3.max(all, (point) => point.x)],
      labelX: "time since the launch began",
      labelY: "transactions a second, higher is better",
      ticksX: d3.ticks(0, d3.max(all, (point) => point.x), 8),
      sayX: (seconds) => `${seconds} s`,
      sayY: count,
    });
  }

  /** A strip for each contender: how long transactions took, stretch by stretch, the stronger the more. */
  function heat({ levels_of_ten, arms }, width) {
    const upTo = (level) => 100 * 10 ** (level / levels_of_ten);
    const cells = arms.flatMap(({ arm, stretch_s, cells }) =>
      cells.map(([stretch, level, share]) => ({
        arm,
        x1: stretch * stretch_s,
        x2: (stretch + 1) * stretch_s,
        y1: upTo(level - 1),
        y2: upTo(level),
        share,
      })),
    );
    const last = d3.max(cells, (cell) => cell.x2);
    const domain = [d3.min(cells, (cell) => cell.y1), d3.max(cells, (cell) => cell.y2)];
    const tens = (ns) => Math.log10(ns);
    const at = d3.range(Math.ceil(tens(domain[0])), Math.floor(tens(domain[1])) + 1).map((power) => 10 ** power);
    return Plot.plot({
      ...stripFrame(arms, width, { each: 130, padding: 0.22, marginRight: 26 }),
      x: { domain: [0, last] },
      y: { type: "log", domain },
      marks: [
        Plot.gridY(at, grid),
        axisY(at, duration),
        axisX(d3.ticks(0, last, 8), (seconds) => `${seconds} s`, "time since the launch began"),
        Plot.rect(cells, {
          fy: "arm",
          x1: "x1",
          x2: "x2",
          y1: "y1",
          y2: "y2",
          fill: "var(--series-1)",
          // A share of one in ten thousand is still seen, for such are the stalls.
          fillOpacity: ({ share }) => Math.max(0.25, Math.sqrt(share)),
          inset: 0,
        }),
        Plot.ruleY([domain[0]], { stroke: INK }),
        stripNames(arms, arms),
      ],
    });
  }

  return { forest, hits, limits, launches, latency, stalls, pace, heat };
})();
