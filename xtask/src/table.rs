//! Text in aligned columns.

/// Rows under a heading, each column as wide as its widest cell.
pub(crate) fn render<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = heading.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let rule = widths.map(|width| "-".repeat(width)).join("-+-");
    let mut lines = vec![line(&heading, &widths), rule];
    lines.extend(rows.iter().map(|row| line(row, &widths)));
    lines.join("\n") + "\n"
}

fn line<Cell: AsRef<str>>(cells: &[Cell], widths: &[usize]) -> String {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, &width)| format!("{:width$}", cell.as_ref())).collect();
    padded.join(" | ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_blanks() {
        let rows = [["unit".to_owned(), "passed".to_owned()], ["integration".to_owned(), String::new()]];
        assert_eq!(
            render(["suite", "result"], &rows),
            "suite       | result\n\
             ------------+-------\n\
             unit        | passed\n\
             integration |\n"
        );
    }
}
