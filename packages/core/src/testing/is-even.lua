--- Of numbers.

local function is_even(number)
  return number % 2 == 0
end
