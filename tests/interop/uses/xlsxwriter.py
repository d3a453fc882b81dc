"""xlsxwriter: spreadsheets."""

import io

import numpy as np
import openpyxl
import xlsxwriter


def _written(write):
    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True})
    write(book.add_worksheet())
    book.close()
    read = openpyxl.load_workbook(file).active
    return [[c.value for c in row] for row in read.rows]


def columns(x):
    y = x[:200] * 1.0 + 1
    return _written(lambda sheet: sheet.write_column(0, 1, y))


def rows(x):
    y = (x * 9).astype(int)[:40].reshape(-1, 5) * 2

    def write(sheet):
        for i, row in enumerate(y):
            sheet.write_row(i, 0, row)

    return _written(write)


def cells(x):
    y = x * 2

    def write(sheet):
        sheet.write(0, 0, y[3])
        sheet.write_number("B1", (x + 1).max())
        sheet.write(1, 0, np.bool_(True))
        sheet.write(1, 1, np.array(["name"])[0])

    return _written(write)


def tables(x):
    y = x[:12].reshape(-1, 3) * 2
    return _written(lambda sheet: sheet.add_table(0, 0, 4, 2, {"data": y}))


def error_array_in_a_cell(x):
    _written(lambda sheet: sheet.write(0, 0, x[:2] * 2))
