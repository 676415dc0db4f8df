import Testing

@testable import PushModel

/// What programs write where there is no value.
struct AbsentValueTests {
  @Test(arguments: [
    "null", "NULL", "None", "nil", "NaN", "nan", "undefined", "Undefined", "\\N", "[object Object]", "[OBJECT OBJECT]",
    "(null)", "<null>", "<nil>", "<NULL>", " NULL", "NULL\t", " [object Object] ", "\u{A0}null\u{A0}",
    "            null    ",
  ])
  func `no request means such a text, and no table`(text: String) {
    #expect(AbsentValue.isCertain(text))
    #expect(AbsentValue.isInTable(text))
  }

  @Test(arguments: ["Null", "Nan", "Nil", "none", "NONE", "Nan ", "n/a", "#N/A", "nAn"])
  func `a name that a program would write otherwise is absent in a table only`(text: String) {
    #expect(!AbsentValue.isCertain(text))
    #expect(AbsentValue.isInTable(text))
  }

  @Test(arguments: [
    "nil.armstrong", "none@example.com", "nullable", "null null", "undefinedx", "object Object", "nancy", "0", "-",
    "null" + String(repeating: "x", count: 100),
  ])
  func `any other text is a value`(text: String) {
    #expect(!AbsentValue.isCertain(text))
    #expect(!AbsentValue.isInTable(text))
  }

  @Test func `an empty column is absent, and an empty value is refused by its own rule`() {
    for text in ["", " ", "\t"] {
      #expect(AbsentValue.isInTable(text))
      #expect(!AbsentValue.isCertain(text))
    }
  }
}
