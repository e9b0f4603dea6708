// What the page of a record does: says what draws its charts, and sorts the tables of cases.

"use strict";

/** What draws a figure, by the kind it asks for. */
const charts = { ...caseCharts, ...suiteCharts };

/** Numbers by size, words by the alphabet; a cell without a value comes last either way. */
function compareValues(one, other, direction) {
  if (one === "" || other === "") return (one === "") - (other === "");
  const numbers = [Number(one), Number(other)];
  const order = numbers.some(Number.isNaN) ? one.localeCompare(other) : numbers[0] - numbers[1];
  return direction === "ascending" ? order : -order;
}

/** Sorts the rows of each case by a column; the case's title stays first. */
function sortTable(table, column, direction) {
  const value = (row) => row.cells[column]?.dataset.value ?? "";
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.classList.contains("title"));
    rows.sort((one, other) => compareValues(value(one), value(other), direction));
    body.append(...rows);
  }
}

/** Figures start with the largest, words with the first of the alphabet. */
function nextDirection(header) {
  const first = header.classList.contains("number") ? "descending" : "ascending";
  const second = first === "ascending" ? "descending" : "ascending";
  return header.getAttribute("aria-sort") === first ? second : first;
}

function makeSortable(table) {
  const headers = [...table.tHead.rows[0].cells];
  for (const header of headers.filter((header) => "sortable" in header.dataset)) {
    header.setAttribute("aria-sort", "none");
    const button = makeButton(header);
    const sort = () => {
      const direction = nextDirection(header);
      for (const other of headers)
        if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", direction);
      sortTable(table, headers.indexOf(header), direction);
    };
    button.addEventListener("click", sort);
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort();
    });
  }
}

/**
 * A span and not a button, because Chromium leaves buttons out of the headings it repeats on each printed
 * page.
 */
function makeButton(header) {
  const button = document.createElement("span");
  button.setAttribute("role", "button");
  button.tabIndex = 0;
  button.append(...header.childNodes);
  header.append(button);
  return button;
}

drawCharts();
redrawOnResize();
document.querySelectorAll("table.cases").forEach(makeSortable);
prepareForPrint();
