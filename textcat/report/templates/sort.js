document.querySelectorAll("table.sortable thead th").forEach(function (head) {
  head.tabIndex = 0;
  function value(row) { var text = row.cells[head.cellIndex].textContent.trim(); return text === "" || isNaN(text) ? text : Number(text); }
  function sort() {
    var body = head.closest("table").tBodies[0], rows = Array.from(body.rows), up = head.getAttribute("aria-sort") !== "ascending";
    rows.sort(function (one, other) {
      var a = value(one), b = value(other);
      if (a === "" || b === "") return (a === "") - (b === "");
      return (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))) * (up ? 1 : -1);
    });
    head.closest("tr").querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.forEach(function (row) { body.appendChild(row); });
  }
  head.addEventListener("click", sort);
  head.addEventListener("keydown", function (event) { if (event.key === "Enter") sort(); });
});
