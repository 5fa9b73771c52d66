import RepriseCore

extension PhoneRules {
    /// One of the rules, by its name, as `reprise-lab phone run --rule NAME=VALUE` takes it.
    public struct Rule: Sendable, Identifiable {
        /// The name, that of the property.
        public let id: String
        /// The values that it may have; of a number the least and the greatest.
        public let values: [String]
        /// Whether its value is a number.
        public let isNumber: Bool
        private let get: @Sendable (PhoneRules) -> String
        private let put: @Sendable (inout PhoneRules, String) -> Bool

        /// The rule's value in `rules`.
        public func value(in rules: PhoneRules) -> String { get(rules) }

        fileprivate func set(_ value: String, in rules: inout PhoneRules) -> Bool {
            put(&rules, value)
        }

        fileprivate init<Value: PhoneRuleValue>(
            _ id: String, _ path: any WritableKeyPath<PhoneRules, Value> & Sendable
        ) {
            self.id = id
            values = Value.allCases.map(\.rawValue)
            isNumber = false
            get = { $0[keyPath: path].rawValue }
            put = { rules, text in
                guard let value = Value(rawValue: text) else { return false }
                rules[keyPath: path] = value
                return true
            }
        }

        fileprivate init(
            _ id: String, _ path: any WritableKeyPath<PhoneRules, Int> & Sendable,
            _ range: ClosedRange<Int>
        ) {
            self.id = id
            values = ["\(range.lowerBound)", "\(range.upperBound)"]
            isNumber = true
            get = { "\($0[keyPath: path])" }
            put = { rules, text in
                guard let value = Int(text), range.contains(value) else { return false }
                rules[keyPath: path] = value
                return true
            }
        }
    }

    /// All rules; `docs/phone.md` has a row for each.
    public static let all: [Rule] = [
        Rule("beyondPendingLimit", \.beyondPendingLimit),
        Rule("pendingAcrossRestart", \.pendingAcrossRestart),
        Rule("deliveredAcrossRestart", \.deliveredAcrossRestart),
        Rule("dueWhileOff", \.dueWhileOff),
        Rule("intervalTriggers", \.intervalTriggers),
        Rule("passedOverTriggers", \.passedOverTriggers),
        Rule("unansweredPresentation", \.unansweredPresentation),
        Rule("zeroBadge", \.zeroBadge),
        Rule("removedApp", \.removedApp),
        Rule("tappedNotification", \.tappedNotification),
        Rule("launchingTap", \.launchingTap),
        Rule("uncompletedResponse", \.uncompletedResponse),
        Rule("backgroundLaunch", \.backgroundLaunch),
        Rule("backgroundSeconds", \.backgroundSeconds, 0...3_600),
        Rule("backgroundTimeOnEntry", \.backgroundTimeOnEntry),
        Rule("backgroundOverrun", \.backgroundOverrun),
        Rule("launchBeforeUnlock", \.launchBeforeUnlock),
        Rule("forceQuitAcrossRestart", \.forceQuitAcrossRestart),
        Rule("tasksAcrossRestart", \.tasksAcrossRestart),
        Rule("processingAfterForceQuit", \.processingAfterForceQuit),
        Rule("taskConditionLost", \.taskConditionLost),
        Rule("transfersAcrossRestart", \.transfersAcrossRestart),
        Rule("transferRetrySeconds", \.transferRetrySeconds, 1...300),
        Rule("lostTransfer", \.lostTransfer),
        Rule("interruptedDownload", \.interruptedDownload),
        Rule("discretionaryTransfers", \.discretionaryTransfers),
        Rule("finishedDownload", \.finishedDownload),
        Rule("transferEventsEnd", \.transferEventsEnd),
        Rule("brokenSocket", \.brokenSocket),
        Rule("closedSocket", \.closedSocket),
        Rule("storedPush", \.storedPush),
        Rule("silentPushesPerHour", \.silentPushesPerHour, 0...1_000),
        Rule("heldPush", \.heldPush),
        Rule("silentInForeground", \.silentInForeground),
        Rule("alertsThatWake", \.alertsThatWake),
        Rule("extensionOfForceQuitApp", \.extensionOfForceQuitApp),
        Rule("extensionBeforeUnlock", \.extensionBeforeUnlock),
        // Behind the others: a seed draws those as before.
        Rule("keyWindow", \.keyWindow),
        Rule("communicationInFocus", \.communicationInFocus),
        Rule("deviceCalendar", \.deviceCalendar),
    ]

    /// The default rules, and one variant for each other value of each rule: for tests.
    public static var variants: [PhoneRules] {
        [PhoneRules()]
            + all.filter { !$0.isNumber }.flatMap { rule in
                rule.values.dropFirst().compactMap { value in
                    var rules = PhoneRules()
                    return rule.set(value, in: &rules) ? rules : nil
                }
            }
    }

    /// Rules whose values, apart from numbers, are drawn by a seed.
    ///
    /// - Parameter seed: the same seed draws the same values.
    public init(seed: UInt64) {
        self.init()
        for (index, rule) in Self.all.enumerated() where !rule.isNumber {
            // SplitMix64: one step for each rule.
            var drawn = seed &+ UInt64(index + 1) &* 0x9e37_79b9_7f4a_7c15
            drawn = (drawn ^ drawn >> 30) &* 0xbf58_476d_1ce4_e5b9
            drawn = (drawn ^ drawn >> 27) &* 0x94d0_49bb_1331_11eb
            drawn ^= drawn >> 31
            _ = rule.set(rule.values[Int(drawn % UInt64(rule.values.count))], in: &self)
        }
    }

    /// Changes one rule.
    ///
    /// - Parameters:
    ///   - name: the name of its property.
    ///   - value: one of its values.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, which names the choices.
    public mutating func set(_ name: String, to value: String) throws {
        guard let rule = Self.all.first(where: { $0.id == name }) else {
            throw RepriseError(
                .badConfiguration, "The phone has no rule \"\(name.prefix(64))\".",
                remedy: "There are: " + Self.all.map(\.id).joined(separator: ", ") + ".")
        }
        guard rule.set(value, in: &self) else {
            let values = rule.values
            throw RepriseError(
                .badConfiguration, "\(name) cannot be \"\(value.prefix(64))\".",
                remedy: rule.isNumber
                    ? "It is a whole number from \(values[0]) to \(values[1])."
                    : "It is " + values.joined(separator: " or ") + ".")
        }
    }
}
