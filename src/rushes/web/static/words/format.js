export default {
  about: (span) => `about ${span}`,
  ordinals: { one: "st", two: "nd", few: "rd", other: "th" },
};
