/// The stored format of a schedule, for apps that keep it in their own store.
///
/// ```json
/// {"v": 1, "days": {"on": "week", "weekdays": [1, 4]}, "times": ["07:30", "21:00"],
///  "zone": "Europe/Berlin"}
/// ```
///
/// Version 2 where days are `month` or `year` or a `count` is set, else version 1, so that a former
/// version of the app reads all that it could have written, and refuses the rest. Absent `start`,
/// `end`, `count`, `skipped`, `quiet` and `zone` are left out; without `zone` it is the device's.
/// Sets are sorted, so equal schedules are equal texts. Texts without a version are read, too.
extension Schedule: Codable {
    private static let version = 2

    private enum Key: String, CodingKey {
        case version = "v"
        case days, times, start, end, count, skipped, quiet, zone
    }

    /// Reads the format of any version up to this one; ``check()`` validates it.
    ///
    /// - Throws: `DecodingError`, also for a newer version.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        let version = try fields.decodeIfPresent(Int.self, forKey: .version)
        guard (1...Self.version).contains(version ?? Self.version) else {
            throw DecodingError.dataCorruptedError(
                forKey: .version, in: fields,
                debugDescription:
                    "This version reads schedules up to version \(Self.version).")
        }
        self.init(
            try fields.decode(Days.self, forKey: .days),
            at: try fields.decode([TimeOfDay].self, forKey: .times),
            start: try fields.decodeIfPresent(LocalDate.self, forKey: .start),
            end: try fields.decodeIfPresent(LocalDate.self, forKey: .end),
            count: try fields.decodeIfPresent(Int.self, forKey: .count),
            skipped: Set(try fields.decodeIfPresent([LocalDate].self, forKey: .skipped) ?? []),
            quiet: try fields.decodeIfPresent(QuietHours.self, forKey: .quiet),
            zone: try fields.decodeIfPresent(Zone.self, forKey: .zone) ?? .device)
    }

    /// Writes it as of the lowest version that can; a day or a time that cannot be written is an
    /// error.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode(days.isOfMonths || count != nil ? 2 : 1, forKey: .version)
        try fields.encode(days, forKey: .days)
        try fields.encode(times, forKey: .times)
        try fields.encodeIfPresent(start, forKey: .start)
        try fields.encodeIfPresent(end, forKey: .end)
        try fields.encodeIfPresent(count, forKey: .count)
        if !skipped.isEmpty { try fields.encode(skipped.sorted(), forKey: .skipped) }
        try fields.encodeIfPresent(quiet, forKey: .quiet)
        if zone != .device { try fields.encode(zone, forKey: .zone) }
    }
}

extension Schedule.Days: Codable {
    private enum Key: String, CodingKey { case on, day, weekdays, days, from, months, monthDays }

    /// The word by which each is known: a closed list, that a new version adds to with a new
    /// number.
    private enum Word: String, Codable { case once, day, week, every, month, year }

    /// What version 2 has added.
    fileprivate var isOfMonths: Bool {
        switch self {
        case .once, .daily, .weekly, .every: false
        case .monthly, .yearly: true
        }
    }

    /// Reads the format of any version.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        guard fields.contains(.on) else {
            self = try Former(from: decoder).days
            return
        }
        switch try fields.decode(Word.self, forKey: .on) {
        case .once: self = .once(try fields.decode(LocalDate.self, forKey: .day))
        case .day: self = .daily
        case .week: self = .weekly(on: Set(try fields.decode([Weekday].self, forKey: .weekdays)))
        case .every:
            self = .every(
                days: try fields.decode(Int.self, forKey: .days),
                from: try fields.decode(LocalDate.self, forKey: .from))
        case .month:
            self = .monthly(
                on: Set(try fields.decode([Schedule.MonthDay].self, forKey: .monthDays)))
        case .year:
            self = .yearly(
                months: Set(try fields.decode([Int].self, forKey: .months)),
                on: Set(try fields.decode([Schedule.MonthDay].self, forKey: .monthDays)))
        }
    }

    /// Writes `{"on": "once", "day": …}`, `{"on": "day"}`, `{"on": "week", "weekdays": […]}`,
    /// `{"on": "every", "days": …, "from": …}`, `{"on": "month", "monthDays": […]}` or
    /// `{"on": "year", "months": […], "monthDays": […]}`.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        switch self {
        case .once(let day):
            try fields.encode(Word.once, forKey: .on)
            try fields.encode(day, forKey: .day)
        case .daily: try fields.encode(Word.day, forKey: .on)
        case .weekly(let weekdays):
            try fields.encode(Word.week, forKey: .on)
            try fields.encode(weekdays.sorted(), forKey: .weekdays)
        case .every(let days, let from):
            try fields.encode(Word.every, forKey: .on)
            try fields.encode(days, forKey: .days)
            try fields.encode(from, forKey: .from)
        case .monthly(let days):
            try fields.encode(Word.month, forKey: .on)
            try fields.encode(days.sorted(), forKey: .monthDays)
        case .yearly(let months, let days):
            try fields.encode(Word.year, forKey: .on)
            try fields.encode(months.sorted(), forKey: .months)
            try fields.encode(days.sorted(), forKey: .monthDays)
        }
    }

    /// Before there were versions: as Swift synthesizes it, `{"weekly": {"on": [1, 4]}}`.
    private struct Former {
        private enum Case: String, CodingKey { case once, daily, weekly, every }
        private enum Value: String, CodingKey {
            case first = "_0"
            case on, days, from
        }

        let days: Schedule.Days

        init(from decoder: any Decoder) throws {
            let cases = try decoder.container(keyedBy: Case.self)
            guard let only = cases.allKeys.first, cases.allKeys.count == 1 else {
                throw DecodingError.dataCorrupted(
                    .init(
                        codingPath: decoder.codingPath,
                        debugDescription: "Days are written as {\"on\": \"day\"}."))
            }
            let values = try cases.nestedContainer(keyedBy: Value.self, forKey: only)
            switch only {
            case .once: days = .once(try values.decode(LocalDate.self, forKey: .first))
            case .daily: days = .daily
            case .weekly:
                days = .weekly(on: Set(try values.decode([Weekday].self, forKey: .on)))
            case .every:
                days = .every(
                    days: try values.decode(Int.self, forKey: .days),
                    from: try values.decode(LocalDate.self, forKey: .from))
            }
        }
    }
}

extension Schedule.Zone: Codable {
    private enum FormerKey: String, CodingKey { case device, fixed }
    private enum FormerValue: String, CodingKey { case first = "_0" }

    /// Reads a name of the time zone database, or null for the device's; also the format without
    /// versions.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .device
        } else if let name = try? value.decode(String.self) {
            self = .fixed(name)
        } else {
            let cases = try decoder.container(keyedBy: FormerKey.self)
            guard cases.contains(.fixed) else {
                _ = try cases.nestedContainer(keyedBy: FormerValue.self, forKey: .device)
                self = .device
                return
            }
            self = .fixed(
                try cases.nestedContainer(keyedBy: FormerValue.self, forKey: .fixed)
                    .decode(String.self, forKey: .first))
        }
    }

    /// Writes a name, or null for the device's.
    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .device: try value.encodeNil()
        case .fixed(let name): try value.encode(name)
        }
    }
}
