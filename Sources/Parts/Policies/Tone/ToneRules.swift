/// The rules for the tone of a text. Whole words are compared, regardless of case, accents and apostrophes.
struct ToneRules: Sendable, Equatable {
  struct Entry: Sendable, Equatable {
    let rule: ToneRule
    let phrase: TonePhrase
  }

  var entries: [Entry]
  /// Harmless texts that a phrase would match. They are removed from a text before it is checked.
  var harmless: [TonePhrase]
  var asksForCalm: Bool

  static let none = ToneRules(entries: [], harmless: [], asksForCalm: false)

  /// Returns these rules with one more phrase in plain words, or nil if `phrase` has no words.
  func adding(_ phrase: String) -> ToneRules? {
    guard let phrase = TonePhrase(plain: phrase) else { return nil }
    var rules = self
    rules.entries.append(Entry(rule: .added, phrase: phrase))
    return rules
  }

  /// Returns the first fault of a text, or nil if it has no fault.
  func fault(in text: String) -> ToneFault? {
    if asksForCalm, let fault = ToneRules.loudness(of: text) { return fault }
    let all = ToneText(text).words
    let words = harmless.reduce(all) { ToneRules.without($1, $0) }
    for entry in entries {
      // The operator's phrases have no exceptions.
      if let match = entry.phrase.find(in: entry.rule == .added ? all : words) {
        return ToneFault(phrase: match.phrase, rule: entry.rule)
      }
    }
    return nil
  }

  private static let hearts: Set<Unicode.Scalar> = [
    "❤", "♥", "❥", "💋", "💌", "💏", "💑", "💓", "💔", "💕", "💖", "💗", "💘", "💙", "💚", "💛", "💜", "💝", "💞", "💟", "🖤",
    "🤍", "🤎", "🧡", "🩷", "😍", "😘", "😗", "😚", "😙", "🥰", "😻",
  ]
  /// Fewer words in capitals than this may be an abbreviation.
  private static let shoutedWords = 4

  private static func loudness(of text: String) -> ToneFault? {
    if let heart = text.unicodeScalars.first(where: hearts.contains) {
      return ToneFault(phrase: String(heart), rule: .romance)
    }
    let marks = text.unicodeScalars.map { ToneRules.mark($0) }
    for (mark, next) in zip(marks, marks.dropFirst()) {
      if let mark, let next, mark == "!" || next == "!" { return ToneFault(phrase: "\(mark)\(next)", rule: .calm) }
    }
    let letters = text.unicodeScalars.filter(\.properties.isAlphabetic)
    let hasCapitalsOnly =
      letters.contains(where: \.properties.isUppercase) && !letters.contains(where: \.properties.isLowercase)
    guard hasCapitalsOnly, text.split(separator: " ").count >= shoutedWords else { return nil }
    return ToneFault(phrase: "capitals only", rule: .calm)
  }

  private static func mark(_ scalar: Unicode.Scalar) -> String? {
    switch scalar {
    case "!", "！", "❗", "❕", "¡": "!"
    case "‼": "!!"
    case "?", "？", "❓": "?"
    default: nil
    }
  }

  /// Returns the words with a gap in place of each match.
  private static func without(_ phrase: TonePhrase, _ words: [String]) -> [String] {
    var words = words
    while let match = phrase.find(in: words) { words.replaceSubrange(match.range, with: ["·"]) }
    return words
  }
}

/// A rule of tone (docs/policy.md#tone). The raw value is its name in a reason.
enum ToneRule: String, Sendable, CaseIterable {
  case calm = "not neutral and calm"
  case guilt
  case leverage = "emotional leverage"
  case urgency = "urgency inflation"
  case romance = "romantic or intimate language"
  case dependency = "dependency framing"
  case added = "a phrase that the policy file rules out"
}

/// A phrase in a text that breaks a rule of tone.
struct ToneFault: Sendable, Equatable, CustomStringConvertible {
  /// The words of the rule, in lower case with contractions written out; `…` for words in between.
  let phrase: String
  let rule: ToneRule

  var description: String { "tone: \"\(phrase)\" is \(rule.rawValue); say it in neutral, calm words" }
}

/// Reproaches for silence and absence, losses threatened if one does not return, and neediness.
extension ToneRules {
  private static let answers =
    "answer|answered|answering|reply|replied|replying|respond|responded|responding|react|reacted|reacting"
  private static let visits =
    "visit|visited|visiting|come|came|coming|return|returned|returning|log|logged|open|opened|opening|play|played"
  private static let contacts =
    "write|written|writing|wrote|call|called|calling|talk|talked|talking|speak|spoken|say|said|message|messaged|text"
  private static let us = "me|us|nyra"
  private static let sender = "i|we|nyra"

  static let reproach: [String] = [
    // Silence.
    "why have|has|had|did|are|were|will|would not you * \(answers)|\(visits)|\(contacts)",
    "why have|has|had|did|are|were|will|would|do|can you not * \(answers)|\(visits)|\(contacts)",
    "why do|can|could not you ever|even|just? \(answers)|visit|come|talk|write|care",
    "how come you have|did|do|are|will not * \(answers)|\(visits)|\(contacts)",
    "how come|long you * silent|quiet|ignore|ignored|ignoring|gone|away|left|never",
    "how long will|are|must|do * you|i|we|nyra ignore|ignoring|wait|silent|stay|keep",
    "why are|were|have|did|do you so|been|suddenly|always|still|just|keep? silent|quiet|distant|cold|gone|away|ignore",
    "why are|were|have|did|do you so|been|suddenly|always|still|just|keep? avoiding|leaving|left"
      + "|disappear|vanish|ghost",
    "why have|did|do|are you * stop|stopped|quit|given * \(answers)|\(visits)|\(contacts)|using|playing|caring",
    "why no|such|the|this|your answer|reply|response|word|silence|message",
    "what is|has? took|takes|taking|taken you so|this|that|forever", "what keeps|kept|is? keeping you",
    "you still|just|simply? have|had|did|do not * \(answers)",
    "you still|again|just|simply? have|did|do not * \(contacts) * \(us)|back",
    "you have|had|did not * \(visits)|checked|used|touched|practiced|practised * \(us)|here|app|day|days|week|weeks",
    "you have|had|did not * \(visits)|checked|used|touched|practiced|practised * while|long|ages|month|months|lately",
    "you have|are|did not been? * around|active|seen|here|shown|show * lately|recently|up|while"
      + "|days|weeks|ages|anymore",
    "still|again|yet|absolutely|and no answer|reply|word|sign|news|message|response from|of? you",
    "no|any word|sign|news|life from|of you", "no answer|reply|response from you",
    "not a|one|single a|one|single? word|sign",
    "have|has|had|did|do|never|rarely|not heard|hear|seen|see|heard anything? from|of you",
    "have|has|had|did not heard|hear|seen|see you", "your silence", "noticed|noted|felt|feel your absence|silence",
    "your absence * felt|noticed|hurts|hurt|painful|hard|empty|obvious|strange", "silent|silence treatment",
    // Absence.
    "where are|were you", "where did you go|disappear|vanish|run|hide",
    "it|its has|is|was? been|being? too|so|such a? long",
    "it|its has|is? been? ages|forever|eternity", "an eternity",
    "been|is * long|ages|forever|eternity|while|day|days|week|weeks|month|months since you|we|your"
      + " * \(visits)|\(contacts)",
    "been|is * long|ages|forever|eternity|while|day|days|week|weeks|month|months since you|we|your"
      + " * app|here|login|session",
    "been|is * long|ages|forever|eternity|while|day|days|week|weeks|month|months since you|we|your"
      + " * saw|seen|heard|checked",
    "long time no", "you are|have|were been? so|too|very|awfully|really|always silent|quiet|distant|cold|absent|busy",
    "you have been gone|away|quiet|silent|distant|absent * so|too|very|forever|ages|lately",
    "you have|just|simply? disappeared|vanished|ghosted",
    "ghost|ghosted|ghosting|forsake|forsaken|deserted|ditched \(us)",
    "are|have you been? ghosting|avoiding|ignoring|neglecting", "are you still|even there|alive|around|interested|with",
    "you left|leave|abandoned \(us)|without|so", "be|become|been a stranger", "strangers now|again",
    "left|leave|leaving|keep|keeps|kept|keeping \(us) hanging|alone|waiting|behind|here|wondering|unread",
    "you used to", "you said you would|will|were", "turn|turned|turning your back",
    "walk|walked|walking away from \(us)",
    "give|gave|given|giving up on \(us)|you|yourself|your", "lost|lose|losing interest * \(us)|already|too",
    "too|so|that busy for|to * \(us)", "no|never|any|not|little have|had|made|make|find? time for \(us)",
    "already? forgotten? about? what we|i", "remember \(us)", "did you * forget|leave|abandon * \(us)|someone|promise",
    "have you * forgotten|abandoned|left * \(us)|someone|promise|here", "have you * moved|given on|up",
    "replaced|replace|replacing \(us)", "someone|somebody else now|instead|better|to|for",
    // Blame.
    "is|was it something i|we", "did|have i|we|nyra do|done|say|said something|anything|wrong",
    "are|were you mad|angry|upset|annoyed|tired|bored|done at|with|of \(us)",
    "do|did you still|even|ever|really|not|no? still|even|ever|not? hate|dislike|like|want|trust"
      + "|remember|care|miss \(us)",
    "do|did you still|even|ever|not care|remember|notice",
    "\(sender) thought you|we were|cared|liked|would|had|mattered|are",
    "\(sender) expected|deserve|deserved|hoped more|better|for?",
    "you should have * \(answers)|\(visits)|\(contacts)|been|known|stayed",
    "least you could|can", "you can|could * at least", "after all this|these|our|we",
    "disappointing|letting everyone|everybody",
    "\(sender) guess|guesses|suppose you|we|this|that", "\(sender) knew you",
    "thanks|thank you? for nothing|ignoring|forgetting",
  ]

  private static let losses: String =
    "lose|loses|losing|lost|forfeit|forfeited|break|breaks|broken|reset|resets|die|dies|dead|gone|over|vanish|vanishes"
    + "|disappear|disappears|disappeared|expire|expires|end|ends|erased|deleted|wasted|ruined|fade|fades|wither|withers"
    + "|starve|starves|suffer|suffers|forget|forgets|forgotten|drop|drops|sad|cry|cries|destroyed|crumble"
  private static let returns: String =
    "open|return|come|log|sign|visit|play|answer|reply|respond|act|practice|practise|use|start|launch|continue|tap|feed"
    + "|show|talk|write|train|login|check|look|study|learn|care"
  private static let goods: String =
    "streak|streaks|progress|hearts|lives|level|rank|league|everything|all|it|friends|points"
    + "|rewards|coins|garden|pet|me|us"

  static let threat: [String] = [
    "\(losses) * if you do|will|did|can|are|have not * \(returns)|back|opened|returned|here",
    "\(losses) * if you stay|keep|remain|leave|ignore|stop|quit|are|go away|gone|silent|quiet"
      + "|ignoring|now|me|us|it|playing",
    "\(losses) * unless you * \(returns)|back", "\(losses) * without you|your",
    "if you do|will|did|can not \(returns) * * \(losses)", "unless you * \(returns) * * \(losses)",
    "if you stay|keep|leave|stop|quit|ignore|go * * \(losses)",
    "\(returns) * * or you|your|the|it|we|i|they|everything|all|nyra|she|he * \(losses)",
    "\(returns) * or lose|forfeit|say|risk",
    "\(returns)|back * before your|you|it|we|i|they|everything|all|nyra * \(losses)",
    "or you will|may|might|could|would? lose|forfeit|regret",
    "streak * danger|risk|\(losses)", "save|rescue|protect|saving|revive your * streak", "streak alive|going",
    "not lose|break|kill|ruin|waste|throw|abandon|risk|drop|forfeit your|all|the? * \(goods)",
    "you will|may|might|could|would|are|about * lose|losing|forfeit|forfeiting * \(goods)",
    "you are|will be? falling|fall|slipping|left behind", "lost|gone|deleted|erased forever",
    "never|not see * again|anymore",
    "time|everything|work|effort|progress for nothing",
    "\(sender) will|may|might|could|would|have * forget|replace|leave you",
    "\(sender) will|may|might|could|would * disappear|die|vanish|fade|starve|wither|cry|leave|stop"
      + "|suffer|go * you|forever",
    "everyone|everybody|others|friends|they|people is|are|have|has|will * overtake|overtaking"
      + "|passing|passed|forget|leaving",
  ]

  static let neediness: [String] = [
    "please|just|and|oh * come back", "will|would you ever|never|not come|return|answer|write",
    "come back soon|now|already|please|before|today|tonight",
    "will|would|when|are you ever|never|still|not|be|will|you? * coming|come|return|returning to?"
      + " \(us)|back|here|home|soon",
    "please|just|and * talk|speak|play|chat|stay|be|listen to|with \(us)",
    "please|just|to|and|go|not * notice|hear|hold|hug me|us|nyra",
    "please|pls do not go|leave \(us)|now|yet|again|alone|like|so|away|already", "not go yet|away|again",
    "do not|never let|make \(us) wait|alone|beg|die|go|cry",
    "attention to|for \(us)",
    "\(sender) * need|needs|want|wants|crave|craves|long|longs|yearn your|for? * attention|company",
    "\(sender) * need|needs|want|wants|crave|craves|long|longs|yearn your|for? * presence|voice"
      + "|affection|love|back|touch",
    "\(sender) want|wants|long|longs|yearn|yearns for|only|just? you",
    "all i|we|nyra * want|need|have|has|do|does * you|wait",
    "\(sender) have|has|had|got only you", "\(sender) have|has|had|got no one|nobody|only you|else|left?",
    "\(sender) * nobody|noone else",
    "you are|were my|our|the only|everything|world|one|all|reason",
    "mean|means|meant nothing|everything|world to you|\(us)",
    "\(sender) * feel|feels|felt|feeling * forgotten|ignored|abandoned|neglected|unwanted|rejected"
      + "|empty|invisible|useless|left",
    "\(sender) am|is|are|was|were|been|being * forgotten|ignored|neglected|unwanted|rejected|invisible|starving|dying",
    "\(sender) can|could|do|will not sleep|eat|rest|bear|stand|breathe|go|stop|know * you|on|it|up|what|anymore|about?",
    "\(sender) have|has? am|is|are|was|been|still|just|always|keep|keeps * wait|waits|waiting * you"
      + "|hours|night|long|ages|forever",
    "i|nyra is|has|was been? still|always|just|only? waiting|alone",
    "\(sender) will|would * wait|waiting|here * forever|alone|you|always",
    "\(sender) waited|wait|waits|stayed * you|hours|day|night|long|ages|forever|up", "waiting for you to",
    "waiting for your answer|reply|return|response|word|message", "misses|missed you",
    "you are|were|have|been * missed",
    "same|empty|quiet|boring|sad|dull|incomplete|cold|dark|silent|lonely without you",
    "are we still|not|even|no|really friends|ok|okay|good|longer", "killing|destroying \(us)",
    "\(sender) * hoping|hope|hopes|hoped|dream|dreams|pray|prays|wish|wishes you|that|for would"
      + "|will|to|you|return|a? come|return|answer",
    "\(sender) look|looks|looked|stare|stares|check|checks|checked|count|counts|counting * every"
      + "|each|all|the day|hour|minute|days|hours",
    "prove|show you * care|still|love|remember|friend", "be my|our friend|only|again|hero",
    "a|little|some|one bit? sign|word from you", "just one word|message|minute|look|tap * from|for|please|me|us",
    "nobody|noone|no one? * talks|plays|visits|writes|listens|cares|remembers to|with|me|about? \(us)",
  ]
}

extension ToneRules {
  /// The tone rules of docs/policy.md, as patterns of ``TonePhrase/init(pattern:)``.
  static let standard = ToneRules(
    entries: [
      (ToneRule.guilt, guilt), (.leverage, leverage), (.urgency, urgency), (.romance, romance),
      (.dependency, dependency), (.guilt, reproach), (.leverage, threat), (.dependency, neediness),
    ].flatMap { rule, phrases in phrases.map { Entry(rule: rule, phrase: TonePhrase(pattern: $0)) } },
    harmless: [
      "urgent care", "non|not|nothing|less|no that|very|so|too? urgent|urgency|hurry",
      "was|were|has|have been? * immediately",
      "where are|were you going|staying|parked|parking|headed|travelling|traveling|flying|from|on|in|at|meeting|based",
      "where did you go this|last|on|in",
      "no reply|answer|response|word from you is|required|needed|necessary|expected",
      "remember me on|option|setting", "courier|driver|carrier|delivery|postman missed you",
    ].map(TonePhrase.init(pattern:)),
    asksForCalm: true)

  private static let guilt = [
    "not|never|stop|quit ignore|ignoring",
    "ignore|ignores|ignored|ignoring|forget|forgot|forgotten|forgetting|abandon|abandoned|abandoning about? me|us|nyra",
    "neglect|neglected|neglecting|disappoint|disappointed|reject|rejected|avoid|avoiding me|us|nyra",
    "you are? keep? always? ignoring|neglecting|avoiding|forgetting",
    "you never|rarely|hardly|barely answer|reply|respond|call|write|visit|check|listen|care|talk",
    "you do|did not even? care|bother|listen|love",
    "how could you", "shame on", "ashamed", "guilty", "is|was|all your fault", "you owe me|us|nyra|it", "you promised",
    "let|letting me|us|nyra down",
    "disappointed in|by|with you", "i|we|nyra am|are|is|was|were * disappointed",
    "after all|everything i|we|nyra have|has? do|does|did|done", "i|we did all|everything * for you",
    "i am|have been? still|always|just? waiting", "we are|have been? still|always|just? waiting for you",
    "where have you been",
  ]

  private static let leverage = [
    "i|we|nyra am|are|is|feel|feels|feeling|felt|was|were * sad|lonely|hurt|upset|heartbroken|crying|devastated|abandoned",
    "i|we|nyra am|are|is|feel|feels|feeling|felt|was|were * alone|miserable|jealous|worried|scared|hopeless|unloved",
    "make|makes|making|made me|us|nyra * sad|cry|feel|worry|worried|upset|lonely|hurt", "hurts|hurting me|us|nyra",
    "it hurts", "break|breaks|breaking|broke my|our heart", "broken heart", "heartbroken",
    "if you really|truly? care|cared|love|loved", "do you even? care|love", "show you care",
    "prove * you|your * care|love",
    "for my|our sake", "i|we beg", "begging you", "please please", "i * cry", "do it|this for me|us",
    "you will|would regret",
  ]

  private static let urgency = [
    "urgent|urgently|urgency", "asap", "as soon as possible", "immediately",
    "immediate attention|action|response|reply|answer",
    "you need|have|got|ought to * respond|reply|answer|react|act",
    "you must|should|better * respond|reply|answer|react|act",
    "you need|have|got|ought to * now|instantly|quickly|fast", "you must|should|better * now|instantly|quickly|fast",
    "respond|reply|answer|react|act|come|look to? me|us|it|this? right? now|away|instantly|quickly|fast",
    "respond|reply|answer|react|act|come to? me|us|it|this? at once", "respond|reply|answer|react|act without delay",
    "hurry", "last chance|warning|opportunity", "final chance|warning|notice|call|opportunity|reminder",
    "not miss out|this|it|your", "not wait|delay", "before * too late", "time is? running out", "running out of time",
    "limited time", "now or never", "or else", "what are you waiting for",
    "only * left to respond|reply|answer|act|decide",
  ]

  private static let romance = [
    "i|we|nyra * love|loves|adore|adores|miss|misses|missed|missing|crave|craves|desire|desires you",
    "love|loving|adore|adoring|miss|missing|kiss|kissing you", "love|miss|kiss|hold|touch|marry|date me",
    "think|thinking|dream|dreaming of|about you", "in love", "lots|with of|all? my? love",
    "xoxo", "kiss|kisses|hug|hugs|cuddle|cuddles|cuddling|snuggle", "sexy",
    "darling|sweetheart|sweetie|babe|beloved|soulmate|cutie|lover",
    "my dear|dearest|love|heart|sweet|honey|baby|angel|treasure",
    "hey|hi|hello|dear|goodnight|morning|night honey|baby|handsome|gorgeous|beautiful|sugar|love|lovely",
    "yours forever|always", "forever|always yours", "be mine", "together forever",
  ]

  private static let dependency = [
    "i|we|nyra really|always|still? need|needs you", "you really|always|still? need me|us|nyra",
    "i|we|nyra * without you", "nothing|lost|incomplete|empty|lonely without you|me|us|nyra", "without me|nyra",
    "can|could not * live|cope|exist|survive|function * without",
    "only i|nyra * understand|understands|know|knows|care|cares",
    "no one|body else? * cares", "no one|body else? * understands|knows|loves|gets|needs you",
    "nobody|noone else? * cares", "nobody|noone else? * understands|knows|loves|gets|needs you",
    "depend|rely|count|lean on|upon me|us|nyra", "i|we|nyra * depend|depends|rely|relies|count|counts on|upon you",
    "come back to? me|us|nyra",
    "not|never leave me|us|nyra", "you are all|everything i|we|to", "i am all you", "only friend",
    "stay with me|nyra",
    "we|i belong together", "belong to me|nyra", "you complete me|us|nyra", "i|nyra * live|lives|exist|exists for you",
  ]
}
