package import Foundation
package import RepriseCore

/// What the conditions of a form are compared with; each is asked for only if it is needed.
package protocol FormsFacts {
    /// The attributes of the person, an object.
    func attributes() throws -> CatalogueValue
    /// Nil: it has never happened.
    func past(_ subject: FormsPast.Subject) throws -> FormsPast.Count?
    /// How often this form, or with nil any form, was granted after a moment.
    func granted(_ form: String?, after moment: WallTime) throws -> Int
}

extension FormsCatalogue {
    /// Whether a form may be shown.
    package enum Decision: Hashable, Sendable {
        case allowed
        /// Not for this event.
        case denied(Reason)
        /// Not before this moment.
        case quiet(until: WallTime)
    }

    package enum Reason: String, Hashable, Sendable {
        case audience, past, formFrequency, overallFrequency
    }

    /// Decides whether a form may be shown now.
    ///
    /// Depends on nothing but its arguments: docs/forms/vectors/conditions.json has examples for
    /// other programs.
    ///
    /// - Parameters:
    ///   - form: one of this catalogue.
    ///   - facts: what is known of the person and the past.
    ///   - now: the moment of the decision.
    ///   - zone: the device's, for the quiet time.
    /// - Returns: whether it may be shown; if not, why, or until when.
    /// - Throws: as the facts throw.
    package func decision(
        on form: Form, _ facts: some FormsFacts, at now: WallTime, in zone: TimeZone
    ) throws -> Decision {
        if let audience = form.audience {
            let predicate = CataloguePredicate(node: audience, named: predicates)
            guard predicate.holds(try facts.attributes()) else { return .denied(.audience) }
        }
        for condition in form.past {
            guard condition.holds(try facts.past(condition.subject), at: now) else {
                return .denied(.past)
            }
        }
        func isReached(_ cap: Frequency?, by form: String?) throws -> Bool {
            guard let cap else { return false }
            let since = now.advanced(by: .seconds(-cap.seconds))
            return try facts.granted(form, after: since) >= cap.most
        }
        if try isReached(form.frequency, by: form.id) { return .denied(.formFrequency) }
        if try isReached(frequency, by: nil) { return .denied(.overallFrequency) }
        if let quiet = form.quiet ?? quiet {
            let hours = QuietHours(
                unchecked: quiet.from, to: quiet.until, zone: zone.identifier)
            if let end = hours.end(after: now) { return .quiet(until: end) }
        }
        return .allowed
    }
}
