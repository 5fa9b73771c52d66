import RepriseWire

/// A form that is about to be shown, about which the app decides.
public struct FormsAppearance: Hashable, Sendable {
    /// The form's id in the catalogue.
    public let form: String
    /// The form's heading; empty if the catalogue has none.
    public let title: String
    /// The catalogue's version.
    public let catalogue: String
    /// The event that it is for.
    public let event: FormsOccurrence

    init(form: String, in catalogue: FormsCatalogue, for arrival: FormsArrival) {
        self.form = form
        title = catalogue.form(form)?.title ?? ""
        self.catalogue = catalogue.version
        event = FormsOccurrence(arrival)
    }
}

/// Whether a form may be shown: the answer of ``Forms/Configuration/willAppear``.
public enum FormsDecision: Hashable, Sendable {
    /// Now.
    case show
    /// Not now: its event is decided again after this time, at least 1 s and at most a day, also if
    /// the process ends meanwhile.
    case later(Duration)
    /// Never for this event, which ends as `applied`, with the reason `vetoed FORM WHY`; the first
    /// 200 characters are kept.
    case no(String)
}
