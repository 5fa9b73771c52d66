import RepriseCore
import RepriseForms
import RepriseWire

/// What the devices of the workload `forms` declare, and what happens to them.
enum FormsWorld {
    static let events: [FormsEvent] = [
        FormsEvent("opened_push"),
        FormsEvent("purchase", onInterruption: .never),
        FormsEvent("flash", timeToLive: .seconds(60)),
        FormsEvent("news", timeToLive: .seconds(40), then: .deliver),
        FormsEvent("coupon", timeToLive: .seconds(90), onInterruption: .never),
    ]
    static let rules = Dictionary(events.map { ($0.name, $0) }) { first, _ in first }
    /// `checkout` and `unknown` have no rules; for `unknown` no catalogue has a form.
    static let names = events.map(\.name) + ["opened_push", "checkout", "unknown"]

    static let answers = EntryKind("answers")
    static let kinds: [EntryKind] = {
        var configuration = Forms.Configuration()
        configuration.events = events
        return Forms.kinds(configuration) + [answers]
    }()
}

/// An event that happens to a device and has to be recorded.
struct FormsMessage {
    let id: EntryID
    let device: Int
    let name: String
    /// When each of its paths brings it.
    let arrivals: [Duration]

    /// `random` gives each message the same number of draws, so that a shorter schedule has the
    /// same first ones.
    init(
        _ index: Int, devices: Int, length: Duration, _ mix: FormsMix,
        _ random: inout SeededRandom
    ) {
        var draw = SeededRandom(seed: random.next())
        id = EntryID(unchecked: "m\(index)")
        device = index % devices
        name = mix.names[draw.index(mix.names.count)]
        var first = length * draw.fraction()
        let again = draw.chance(0.2)
        if mix.bursts > 0 {
            var burst = SeededRandom(seed: draw.next())
            if burst.chance(mix.bursts) {
                first = length * mix.moments[burst.index(mix.moments.count)]
                first += burst.spread(.microseconds(10), .milliseconds(40))
            }
        }
        arrivals =
            again
            ? [first, first + draw.spread(.milliseconds(1), .seconds(60))] : [first]
    }
}

/// A catalogue as the server has it and as the page reads it.
struct SimulatedCatalogue {
    /// So many times in so many seconds.
    struct Cap {
        let most: Int64
        let seconds: Int64
    }

    struct Form {
        let id: String
        let priority: Int
        /// Names of events, each with a delay in seconds.
        let triggers: [(event: String, delay: Int64)]
        var cap: Cap?
        var conditions = SimulatedConditions()
    }

    let text: FormsCatalogue
    /// In the order in which they are tried.
    let forms: [Form]

    func form(_ id: String) -> Form? { forms.first { $0.id == id } }

    private static func cap(_ max: Int64, _ seconds: Int64) -> Cap {
        Cap(most: max, seconds: seconds)
    }

    private static let variants: [(overall: Cap?, forms: [Form])] = [
        (
            cap(8, 120),
            [
                Form(id: "thanks", priority: 20, triggers: [("purchase", 0), ("coupon", 0)]),
                Form(
                    id: "welcome", priority: 10, triggers: [("opened_push", 0)], cap: cap(4, 60)),
                Form(
                    id: "survey", priority: 5, triggers: [("opened_push", 0), ("checkout", 0)],
                    cap: cap(3, 100)),
                Form(id: "sale", priority: 1, triggers: [("flash", 5)]),
                Form(id: "news", priority: 0, triggers: [("news", 0)]),
            ]
        ),
        (
            nil,
            [
                Form(id: "survey", priority: 9, triggers: [("opened_push", 40)]),
                Form(
                    id: "thanks", priority: 5, triggers: [("purchase", 2)], cap: cap(2, 30)),
                Form(id: "sale", priority: 5, triggers: [("flash", 0), ("coupon", 20)]),
            ]
        ),
        (
            cap(2, 20),
            [
                Form(
                    id: "welcome", priority: 1, triggers: [("opened_push", 0), ("news", 0)],
                    cap: cap(1, 10)),
                Form(id: "thanks", priority: 1, triggers: [("purchase", 0), ("flash", 1)]),
                Form(id: "coupon", priority: 0, triggers: [("coupon", 0), ("checkout", 3)]),
            ]
        ),
    ]

    /// All that there are, by their versions: two companies have six each, and six with conditions.
    static let all: [String: SimulatedCatalogue] = {
        let made: [SimulatedCatalogue] = ["acme", "initech"].flatMap { company in
            [false, true].flatMap { hasConditions in
                (0..<6).compactMap {
                    try? SimulatedCatalogue(
                        company: company, number: $0, hasConditions: hasConditions)
                }
            }
        }
        return Dictionary(made.map { ($0.text.version, $0) }) { first, _ in first }
    }()

    static func version(_ company: String, _ number: Int, hasConditions: Bool) -> String {
        "\(company).\(hasConditions ? "c" : "")\(number)"
    }

    private init(company: String, number: Int, hasConditions: Bool) throws {
        var variant = Self.variants[(number + company.utf8.count) % Self.variants.count]
        for place in variant.forms.indices where hasConditions {
            variant.forms[place].conditions = .of(place, number)
        }
        let version = Self.version(company, number, hasConditions: hasConditions)
        func frequency(_ cap: Cap?) -> String {
            cap.map { #","frequency":{"max":\#($0.most),"seconds":\#($0.seconds)}"# } ?? ""
        }
        let forms = variant.forms.map { form in
            let triggers = form.triggers.map {
                #"{"event":"\#($0.event)","delay":\#($0.delay)}"#
            }.joined(separator: ",")
            return #"{"id":"\#(form.id)","priority":\#(form.priority),"triggers":[\#(triggers)]"#
                + #","title":"\#(form.id)","buttons":[{"label":"OK","actions":[{"type":"dismiss"}]}]"#
                + frequency(form.cap) + form.conditions.json + "}"
        }.joined(separator: ",")
        let json =
            #"{"format":"forms/1","version":"\#(version)"\#(frequency(variant.overall))"#
            + #","forms":[\#(forms)]}"#
        text = try FormsCatalogue(Array(json.utf8))
        self.forms = variant.forms
    }
}
