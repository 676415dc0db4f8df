/// The words of a text for the rules of tone: lower case, without accents, contractions written out.
struct ToneText {
  /// For example `do`, `not` for `don't`.
  private(set) var words: [String] = []

  private static let contractions: [String: [String]] = [
    "can't": ["can", "not"], "cannot": ["can", "not"], "won't": ["will", "not"], "ain't": ["is", "not"],
    "cant": ["can", "not"], "wont": ["will", "not"], "dont": ["do", "not"], "didnt": ["did", "not"],
    "doesnt": ["does", "not"], "isnt": ["is", "not"], "arent": ["are", "not"], "wasnt": ["was", "not"],
    "havent": ["have", "not"], "hasnt": ["has", "not"], "couldnt": ["could", "not"], "shouldnt": ["should", "not"],
    "wouldnt": ["would", "not"], "mustnt": ["must", "not"], "im": ["i", "am"], "ive": ["i", "have"],
    "youre": ["you", "are"], "youve": ["you", "have"], "youll": ["you", "will"], "theyre": ["they", "are"],
    "weve": ["we", "have"], "gotta": ["got", "to"], "wanna": ["want", "to"], "u": ["you"], "ur": ["your"],
    "r": ["are"], "pls": ["please"], "plz": ["please"], "luv": ["love"],
  ]
  /// The words that letters after an apostrophe abbreviate.
  private static let endings = ["re": "are", "m": "am", "ve": "have", "ll": "will", "d": "would", "s": ""]

  init(_ text: String) {
    var word = ""
    for scalar in text.unicodeScalars {
      switch LetterFolding.fold(scalar) {
      case .letters(let letters): word += letters
      case .apostrophe: word += "'"
      case .nothing: break
      case .separator: take(&word)
      }
    }
    take(&word)
  }

  private mutating func take(_ word: inout String) {
    defer { word = "" }
    while word.hasPrefix("'") { word.removeFirst() }
    while word.hasSuffix("'") { word.removeLast() }
    guard !word.isEmpty else { return }
    if let written = ToneText.contractions[word] { return words.append(contentsOf: written) }
    if word.hasSuffix("n't") {
      words.append(contentsOf: [String(word.dropLast(3)), "not"])
      return
    }
    let parts = word.split(separator: "'")
    words.append(parts.dropLast().joined() + (parts.count == 1 ? String(parts[0]) : ""))
    guard parts.count > 1, let last = parts.last else { return }
    guard let ending = ToneText.endings[String(last)] else {
      words[words.count - 1] += last
      return
    }
    if !ending.isEmpty { words.append(ending) }
  }
}
