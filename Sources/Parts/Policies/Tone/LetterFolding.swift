/// Maps letters to the plain letters that they look like: accented, full-width, mathematical, circled and foreign ones.
enum LetterFolding {
  enum Meaning: Equatable {
    /// Lower case.
    case letters(String)
    case apostrophe
    /// Invisible, or part of the letter before.
    case nothing
    case separator
  }

  static func fold(_ scalar: Unicode.Scalar) -> Meaning {
    if scalar.isASCII { return plain(scalar) }
    if apostrophes.contains(scalar) { return .apostrophe }
    if let ligature = ligatures[scalar] { return .letters(ligature) }
    if let letter = lookalikes[scalar] ?? styled(scalar) ?? unaccented(scalar) { return plain(letter) }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return .nothing
    case .otherLetter where blanks.contains(scalar): return .nothing
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .otherLetter, .modifierLetter, .decimalNumber,
      .spacingMark:
      return .letters(scalar.properties.lowercaseMapping)
    default: return .separator
    }
  }

  private static func plain(_ scalar: Unicode.Scalar) -> Meaning {
    switch scalar {
    case "a"..."z", "0"..."9": .letters(String(scalar))
    case "A"..."Z": .letters(scalar.properties.lowercaseMapping)
    case "'", "`": .apostrophe
    default: .separator
    }
  }

  private static let apostrophes: Set<Unicode.Scalar> = ["’", "‘", "‛", "ʼ", "ʻ", "′", "´", "＇", "｀", "՚", "ꞌ"]
  private static let ligatures: [Unicode.Scalar: String] = [
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "æ": "ae", "œ": "oe", "ß": "ss",
  ]
  /// Letters that are invisible.
  private static let blanks: Set<Unicode.Scalar> = ["\u{115F}", "\u{1160}", "\u{3164}", "\u{FFA0}"]

  /// Cyrillic, Greek and small capitals that look like Latin letters.
  private static let lookalikes: [Unicode.Scalar: Unicode.Scalar] = {
    let pairs = [
      ("аәԁеһіјӏкмопԛгѕтѵхуѡАВЕНІЈКМОРСТХУЅ", "aadehijlkmonqrstvxywABEHIJKMOPCTXYS"), ("рс", "pc"),
      ("αβεικνορτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abeikvoptuxyABEZHIKMNOPTYX"),
      ("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"), ("øđłıħŧɑɡ", "odlihtag"),
    ]
    var table: [Unicode.Scalar: Unicode.Scalar] = [:]
    for (disguised, plain) in pairs {
      for (from, to) in zip(disguised.unicodeScalars, plain.unicodeScalars) { table[from] = to }
    }
    return table
  }()

  /// Full-width, mathematical, circled and squared letters, which Unicode has in blocks in the order of the alphabet.
  private static func styled(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    let value = scalar.value
    switch value {
    case 0xFF01...0xFF5E: return Unicode.Scalar(value - 0xFEE0)
    case 0x24B6...0x24CF: return Unicode.Scalar(value - 0x24B6 + 0x41)
    case 0x24D0...0x24E9: return Unicode.Scalar(value - 0x24D0 + 0x61)
    case 0x1F130...0x1F149: return Unicode.Scalar(value - 0x1F130 + 0x41)
    case 0x1F150...0x1F169: return Unicode.Scalar(value - 0x1F150 + 0x41)
    case 0x1F170...0x1F189: return Unicode.Scalar(value - 0x1F170 + 0x41)
    case 0x1D400...0x1D6A3:
      let place = (value - 0x1D400) % 52
      return Unicode.Scalar(place < 26 ? 0x41 + place : 0x61 + place - 26)
    default: return nil
    }
  }

  private static func unaccented(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
    switch scalar.value {
    case 0xC0...0x24F, 0x1E00...0x1EFF: accented[Character(scalar)]
    default: nil
    }
  }

  /// Accented letters and their base. Composed and decomposed forms are equal as `Character`.
  private static let accented: [Character: Unicode.Scalar] = {
    let marks = (0x300...0x36F as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init)
    let inner: [Unicode.Scalar] = ["\u{302}", "\u{304}", "\u{306}", "\u{307}", "\u{308}", "\u{31B}", "\u{323}"]
    let outer: [Unicode.Scalar] = [
      "\u{300}", "\u{301}", "\u{302}", "\u{303}", "\u{304}", "\u{307}", "\u{309}", "\u{323}",
    ]
    let singles = marks.map { [$0] }
    let pairs = inner.flatMap { mark in outer.map { [mark, $0] } }
    var table: [Character: Unicode.Scalar] = [:]
    for base in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".unicodeScalars {
      for marks in singles + pairs {
        table[Character(String(String.UnicodeScalarView([base] + marks)))] = base
      }
    }
    return table
  }()
}
