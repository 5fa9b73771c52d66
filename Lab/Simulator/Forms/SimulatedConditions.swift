import RepriseCore

/// Whom a form is for and when, in the catalogues of `forms-targeting`; read and compared without
/// the code that ships.
struct SimulatedConditions {
    /// How often an event was recorded.
    struct Past {
        let event: String
        var atLeast: Int64 = 0
        var atMost: Int64 = .max
    }

    /// Of the person.
    var plan: String?
    var past: Past?
    /// In minutes of the day, without the last.
    var quiet: Range<Int64>?

    /// Of the form at this place of a catalogue.
    static func of(_ place: Int, _ number: Int) -> SimulatedConditions {
        let from = Int64(number % 3)
        let quiet = from..<from + 1 + Int64(number % 2)
        return switch (place + number) % 5 {
        case 0: SimulatedConditions(plan: "vip")
        case 1: SimulatedConditions(past: Past(event: "opened_push", atLeast: 2))
        case 2: SimulatedConditions(quiet: quiet)
        case 3: SimulatedConditions(past: Past(event: "purchase", atMost: 3))
        default: SimulatedConditions(plan: "free", quiet: quiet)
        }
    }

    /// As members of a form, behind others.
    var json: String {
        var json = ""
        if let plan {
            json += #","audience":{"property":"plan","is":"equals","value":"\#(plan)"}"#
        }
        if let past {
            let bound =
                past.atMost == .max ? #""atLeast":\#(past.atLeast)"# : #""atMost":\#(past.atMost)"#
            json += #","past":[{"event":"\#(past.event)",\#(bound)}]"#
        }
        if let quiet {
            json +=
                #","quiet":{"from":"00:0\#(quiet.lowerBound)","until":"00:0\#(quiet.upperBound)"}"#
        }
        return json
    }

    /// When the quiet time is over that is at this moment; nil: there is none.
    func quietEnd(at now: WallTime) -> WallTime? {
        guard let quiet else { return nil }
        let (minute, day) = (Int64(60_000), Int64(86_400_000))
        let today = now.milliseconds / day * day
        guard quiet.contains((now.milliseconds - today) / minute) else { return nil }
        return WallTime(milliseconds: today + quiet.upperBound * minute)
    }
}
