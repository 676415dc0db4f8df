/// The characters of a preview. docs/job.schema.json has the same.
enum PreviewText {
  /// Control characters, and separators of lines and paragraphs.
  static func breaksLine(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x00...0x1F, 0x7F...0x9F, 0x2028...0x2029: true
    default: false
    }
  }

  /// Neither white space nor invisible: not a format character, a variation selector, a filler or an empty Braille pattern.
  static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20, 0xA0, 0xAD, 0x034F, 0x061C, 0x115F...0x1160, 0x1680, 0x17B4...0x17B5, 0x180B...0x180F, 0x2000...0x200F,
      0x2028...0x202F, 0x205F...0x206F, 0x2800, 0x3000, 0x3164, 0xFE00...0xFE0F, 0xFEFF, 0xFFA0, 0xFFF9...0xFFFB,
      0xE0000...0xE0FFF:
      false
    default: !breaksLine(scalar)
    }
  }
}
