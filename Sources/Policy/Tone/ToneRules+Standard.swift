extension ToneRules {
  /// The tone rules of docs/policy.md, as patterns of ``TonePhrase/init(pattern:)``.
  public static let standard = ToneRules(
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
