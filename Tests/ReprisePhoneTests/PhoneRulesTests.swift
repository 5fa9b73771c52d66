import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

@Suite("Phone rules")
struct PhoneRulesTests {
    @Test("every property is a rule with a name, and every rule a property")
    func complete() {
        let properties = Mirror(reflecting: PhoneRules()).children.compactMap(\.label)
        #expect(Set(properties) == Set(PhoneRules.all.map(\.id)))
        #expect(properties.count == PhoneRules.all.count)
    }

    @Test("every value can be set by its name, and is read back", arguments: PhoneRules.all)
    func values(rule: PhoneRules.Rule) throws {
        for value in rule.values {
            var rules = PhoneRules()
            try rules.set(rule.id, to: value)
            #expect(rule.value(in: rules) == value)
            let copy = try JSONDecoder().decode(
                PhoneRules.self, from: JSONEncoder().encode(rules))
            #expect(copy == rules)
        }
    }

    @Test("the variants run every rule with every value, one change at a time")
    func variants() {
        let variants = PhoneRules.variants
        #expect(Set(variants).count == variants.count)
        for rule in PhoneRules.all where !rule.isNumber {
            #expect(Set(variants.map { rule.value(in: $0) }) == Set(rule.values))
        }
    }

    @Test("a seed draws the same rules again, and seeds draw every value")
    func seeds() {
        let drawn = (0..<100).map { PhoneRules(seed: $0) }
        #expect(drawn == (0..<100).map { PhoneRules(seed: $0) })
        for rule in PhoneRules.all where !rule.isNumber {
            #expect(Set(drawn.map { rule.value(in: $0) }) == Set(rule.values), "\(rule.id)")
        }
    }

    @Test(
        "an unknown rule or value is refused with the known ones",
        arguments: [
            ("nonsense", "kept", "beyondPendingLimit"), ("zeroBadge", "", "leavesDelivered"),
            ("backgroundSeconds", "-1", "0 to 3600"), ("backgroundSeconds", "1e3", "whole number"),
        ])
    func refused(name: String, value: String, remedy: String) {
        var rules = PhoneRules()
        let error = #expect(throws: RepriseError.self) { try rules.set(name, to: value) }
        #expect(error?.code == .badConfiguration)
        #expect(error?.remedy?.contains(remedy) == true)
        #expect(rules == PhoneRules())
    }

    @Test("every rule has its row in the documentation, with all its values")
    func documented() throws {
        let page = Command.root.appending(path: "docs/phone.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        for rule in PhoneRules.all {
            #expect(text.contains("`\(rule.id)`"))
            if rule.isNumber { continue }
            for value in rule.values { #expect(text.contains("`\(value)`"), "\(rule.id) \(value)") }
        }
    }
}
