// Sets the theme before the first paint; a plain script, because a module would come too late.
{
  const theme = localStorage.getItem("rushes.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
