"""openpyxl: spreadsheets."""

import numpy as np
import openpyxl


def rows(x):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in x[:60].reshape(-1, 4) * 1.0 + 1:
        sheet.append(list(row))
    book.save("a.xlsx")
    read = openpyxl.load_workbook("a.xlsx").active
    return np.array([[c.value for c in row] for row in read.rows])


def cells(x):
    sheet = openpyxl.Workbook().active
    y = x * 2
    sheet["A1"] = y[1]
    sheet.cell(2, 1, (x * 9).astype(np.int32)[2])
    sheet.cell(3, 1, np.bool_(True))
    sheet.cell(4, 1, np.datetime64("2024-01-02").astype(object))
    return [c.value for c in sheet["A"]], sheet["A1"].data_type


def arrays_as_rows(x):
    sheet = openpyxl.Workbook().active
    sheet.append(tuple(x[:5] + 1))
    sheet.append((x[:5] * 2).tolist())
    return [[c.value for c in row] for row in sheet.rows]


def error_array_in_a_cell(x):
    sheet = openpyxl.Workbook().active
    try:
        sheet["A1"] = x[:2] * 2
    except ValueError as error:
        raise ValueError(str(error).partition("array")[0]) from None


def error_row(x):
    sheet = openpyxl.Workbook().active
    try:
        sheet.append(x[:5] * 2)
    except TypeError as error:
        raise TypeError(type(error).__name__) from None
